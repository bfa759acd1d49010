"""Forward passes over right-padded sequences, or over a prompt and its completions, scored at the completion tokens
only."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from worker.policy.base import Sequences, TokenScores
from worker.policy.logprobs import token_scores

Head = Callable[[Tensor], Tensor]


def score(
    model: PreTrainedModel,
    sequences: Sequences,
    head: Head | None,
    *,
    prompt_once: bool = False,
    entropy_gradient: bool = False,
) -> TokenScores:
    """Scores (n, T) on the model's device, with gradient where it is enabled; of entropies only when asked for.

    prompt_once: all rows have the same prompt; the model `can_share_prompts` and has a `head`. Padding stands on the
    right, so under the causal mask no real token sees it and no attention mask is needed.
    """
    places = _places(sequences, model.device)
    if head is None:
        picked = model(input_ids=places.ids, use_cache=False).logits[places.line, places.position]
        head = _identity
    else:
        picked = _hidden(model, places, sequences.prompts[0] if prompt_once else None)
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


def foresee(model: PreTrainedModel, sequences: Sequences, head: Head, *, prompt_once: bool = False) -> Tensor:
    """Values (n, T) float32 on the model's device, with gradient where it is enabled: `head` (H → 1) of the hidden
    state before each completion token, the one that also says how likely the token is."""
    places = _places(sequences, model.device)
    picked = _hidden(model, places, sequences.prompts[0] if prompt_once else None)
    return places.spread(head(picked.float())[:, 0])


def can_share_prompts(model: PreTrainedModel) -> bool:
    """Whether all layers keep every token's keys and values, so that completions can attend to those of a prompt that
    was run once: tried, with gradient, since an architecture may do more than its configuration says."""
    if model.get_decoder() is model or not all(
        type(layer) is DynamicLayer for layer in DynamicCache(config=model.config).layers
    ):
        return False
    size = model.config.get_text_config().vocab_size
    tried = Sequences([[1 % size, 2 % size, 3 % size]] * 2, [[2 % size, 5 % size], [4 % size]], 1.0)
    places = _places(tried, model.device)
    with torch.no_grad():
        apart, shared = _hidden(model, places), _hidden(model, places, tried.prompts[0])
    tolerance = 1e-4 if model.dtype == torch.float32 else 0.05
    return bool((apart - shared).abs().max() <= tolerance * apart.abs().max())


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
        empty = torch.zeros(self.shape, dtype=found.dtype, device=found.device)
        return empty.index_put((self.line, self.column), found)


def _places(sequences: Sequences, device: torch.device) -> _Places:
    rows, longest = len(sequences), sequences.longest
    before = _column(sequences.prompts) - 1
    lengths = _column(sequences.completions)
    # The last token of a sequence is predicted, never read.
    read = before + lengths
    width = max(int(read.max()) if rows else 0, 1)
    ids = torch.zeros((rows, width), dtype=torch.int64)
    ids[torch.arange(width) < read] = _flat(
        [*prompt, *completion][:-1]
        for prompt, completion in zip(sequences.prompts, sequences.completions, strict=True)
    )
    line, column = (torch.arange(longest) < lengths).nonzero(as_tuple=True)
    targets, position = _flat(sequences.completions), before[line, 0] + column
    ids, targets, line, column, position = (
        each.to(device) for each in (ids, targets, line, column, position)
    )
    return _Places(ids, targets, line, column, position, (rows, longest))


def _column(rows: Sequence[Sequence[int]]) -> Tensor:
    """(n, 1): how long each is."""
    return torch.tensor([len(row) for row in rows], dtype=torch.int64)[:, None]


def _flat(rows: Iterable[Sequence[int]]) -> Tensor:
    return torch.tensor(list(chain.from_iterable(rows)), dtype=torch.int64)


def _hidden(model: PreTrainedModel, places: _Places, prompt: Sequence[int] | None = None) -> Tensor:
    """(M, H): the last hidden states where completion tokens are predicted. `prompt`: of all rows, to be run once."""
    decoder = model.get_decoder()
    if prompt is not None:
        behind: Tensor = _behind(decoder, prompt, places)[places.line, places.column]
        return behind
    if decoder is model:
        # An architecture that does not keep its decoder apart.
        states = model(input_ids=places.ids, use_cache=False, output_hidden_states=True).hidden_states[-1]
    else:
        states = decoder(input_ids=places.ids, use_cache=False).last_hidden_state
    picked: Tensor = states[places.line, places.position]
    return picked


def _behind(decoder: torch.nn.Module, prompt: Sequence[int], places: _Places) -> Tensor:
    """(n, T, H): the last hidden states from the prompt's last token on. Gradients reach the prompt through its keys
    and values, from all rows."""
    rows, longest = places.shape
    cache = DynamicCache()
    ids = torch.tensor([list(prompt)], device=places.ids.device)
    states: Tensor = decoder(input_ids=ids, past_key_values=cache, use_cache=True).last_hidden_state
    last = states[:, -1:].expand(rows, -1, -1)
    if longest < 2:
        return last
    for layer in cache.layers:
        layer.keys = layer.keys.expand(rows, -1, -1, -1)
        layer.values = layer.values.expand(rows, -1, -1, -1)
    ids = places.ids[:, len(prompt) : len(prompt) + longest - 1]
    states = decoder(input_ids=ids, past_key_values=cache, use_cache=True).last_hidden_state
    return torch.cat([last, states], dim=1)


def _identity(logits: Tensor) -> Tensor:
    return logits
