"""One forward pass over right-padded sequences, scored at the completion tokens only."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from worker.policy.base import Sequences, TokenScores
from worker.policy.logprobs import token_scores

Head = Callable[[Tensor], Tensor]


def score(
    model: PreTrainedModel, sequences: Sequences, head: Head | None, *, entropy_gradient: bool = False
) -> TokenScores:
    """Scores (n, T) on the model's device, with gradient where it is enabled; of entropies only when asked for.

    Padding stands on the right, so under the causal mask no real token sees it and no attention mask is needed.
    """
    places = _places(sequences, model.device)
    if head is None:
        picked = model(input_ids=places.ids, use_cache=False).logits[places.line, places.position]
        head = _identity
    else:
        picked = _hidden(model, places)
    vocabulary = model.config.get_text_config().vocab_size
    logprobs, entropies = token_scores(
        picked,
        places.targets,
        head,
        vocabulary=vocabulary,
        temperature=sequences.temperature,
        entropy_gradient=entropy_gradient,
    )
    return TokenScores(places.spread(logprobs), places.spread(entropies))


def foresee(model: PreTrainedModel, sequences: Sequences, head: Head) -> Tensor:
    """Values (n, T) float32 on the model's device, with gradient where it is enabled: `head` (H → 1) of the hidden
    state before each completion token, the one that also says how likely the token is."""
    places = _places(sequences, model.device)
    return places.spread(head(_hidden(model, places).float())[:, 0])


@dataclass(frozen=True, slots=True)
class _Places:
    """Right-padded sequences, and where the M completion tokens of n rows are predicted in them."""

    ids: Tensor
    """(n, width) int64."""
    targets: Tensor
    """(M,) int64: the tokens."""
    line: Tensor
    """(M,) int64: their rows."""
    column: Tensor
    """(M,) int64: which of the row's completion tokens."""
    position: Tensor
    """(M,) int64: where in `ids` they are predicted."""
    shape: tuple[int, int]
    """(n, T)."""

    def spread(self, found: Tensor) -> Tensor:
        """(M,) → (n, T), 0 where a row has no token."""
        empty = torch.zeros(self.shape, device=found.device)
        return empty.index_put((self.line, self.column), found)


def _places(sequences: Sequences, device: torch.device) -> _Places:
    rows, longest = len(sequences), sequences.longest
    # The last token of a sequence is predicted, never read.
    width = max(
        (len(p) + len(c) - 1 for p, c in zip(sequences.prompts, sequences.completions, strict=True)),
        default=0,
    )
    ids = torch.zeros((rows, max(width, 1)), dtype=torch.int64)
    targets = torch.zeros((rows, longest), dtype=torch.int64)
    valid = torch.zeros((rows, longest), dtype=torch.bool)
    before = torch.zeros((rows, 1), dtype=torch.int64)
    for row, (prompt, completion) in enumerate(zip(sequences.prompts, sequences.completions, strict=True)):
        whole = torch.tensor([*prompt, *completion])
        ids[row, : len(whole) - 1] = whole[:-1]
        targets[row, : len(completion)] = whole[len(prompt) :]
        valid[row, : len(completion)] = True
        before[row] = len(prompt) - 1
    line, column = (index.to(device) for index in valid.nonzero(as_tuple=True))
    position = (before.to(device) + torch.arange(longest, device=device))[line, column]
    flat_targets = targets.to(device)[line, column]
    return _Places(ids.to(device), flat_targets, line, column, position, (rows, longest))


def _hidden(model: PreTrainedModel, places: _Places) -> Tensor:
    """(M, H): the last hidden states where completion tokens are predicted."""
    decoder = model.get_decoder()
    if decoder is model:
        # An architecture that does not keep its decoder apart.
        states = model(input_ids=places.ids, use_cache=False, output_hidden_states=True).hidden_states[-1]
    else:
        states = decoder(input_ids=places.ids, use_cache=False).last_hidden_state
    picked: Tensor = states[places.line, places.position]
    return picked


def _identity(logits: Tensor) -> Tensor:
    return logits
