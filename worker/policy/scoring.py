"""One forward pass over right-padded sequences, scored at the completion tokens only."""

from collections.abc import Callable

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
    device = model.device
    line, column = (index.to(device) for index in valid.nonzero(as_tuple=True))
    position = (before.to(device) + torch.arange(longest, device=device))[line, column]
    flat_targets = targets.to(device)[line, column]
    if head is None:
        picked = model(input_ids=ids.to(device), use_cache=False).logits[line, position]
        head = _identity
    else:
        picked = model.get_decoder()(input_ids=ids.to(device), use_cache=False).last_hidden_state[
            line, position
        ]
    vocabulary = model.config.get_text_config().vocab_size
    logprobs, entropies = token_scores(
        picked,
        flat_targets,
        head,
        vocabulary=vocabulary,
        temperature=sequences.temperature,
        entropy_gradient=entropy_gradient,
    )
    empty = torch.zeros((rows, longest), device=device)
    return TokenScores(empty.index_put((line, column), logprobs), empty.index_put((line, column), entropies))


def _identity(logits: Tensor) -> Tensor:
    return logits
