"""Log-probabilities, entropies and values of completion tokens by forward passes in each layout."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from worker.machine.memory import is_out_of_memory
from worker.policy.base import Sequences, TokenScores
from worker.policy.forward.attention import KEYWORD, loop, packed_attention
from worker.policy.forward.logprobs import token_logits, token_scores
from worker.policy.forward.micro_batches import Layout
from worker.policy.forward.rows import CompletionTargets, Packed, Padded, packed, padded
from worker.policy.sharded import is_sharded

log = logging.getLogger(__name__)

Head = Callable[[Tensor], Tensor]
_TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4}
"""Tolerance of hidden states relative to the largest; 0.05 in low precision."""


def score(
    model: PreTrainedModel,
    sequences: Sequences,
    head: Head | None,
    *,
    layout: Layout = "padded",
    entropy_gradient: bool = False,
    execute_token: int | None = None,
) -> TokenScores:
    """Log-probabilities and entropies (n, T) on the model's device, with gradient if enabled.

    layout: one of `layouts_of`; with `prompt_once` all rows have the same prompt. execute_token: also scored
    at every position.
    """
    if head is None:
        rows = padded(sequences, model.device)
        targets = rows.targets
        picked = model(input_ids=rows.ids, use_cache=False).logits[targets.line, rows.position]
        head = _identity
    else:
        picked, targets = _hidden(model, sequences, layout)
    vocabulary = model.config.get_text_config().vocab_size
    logprobs, entropies = token_scores(
        picked,
        targets.ids,
        head,
        vocabulary=vocabulary,
        temperature=sequences.temperature,
        entropy_gradient=entropy_gradient,
    )
    scores = TokenScores(targets.spread(logprobs), targets.spread(entropies))
    if execute_token is None:
        return scores
    everywhere = torch.full_like(targets.ids, execute_token)
    execute_logprobs, _ = token_scores(
        picked, everywhere, head, vocabulary=vocabulary, temperature=sequences.temperature
    )
    execute_logits = token_logits(picked, head, execute_token) / sequences.temperature
    return replace(
        scores,
        execute_logits=targets.spread(execute_logits),
        execute_logprobs=targets.spread(execute_logprobs),
    )


def predict_values(
    model: PreTrainedModel, sequences: Sequences, head: Head, *, layout: Layout = "padded"
) -> Tensor:
    """Values (n, T) float32, with gradient if enabled: `head` (H → 1) of the hidden state that predicts each
    token.
    """
    picked, targets = _hidden(model, sequences, layout)
    return targets.spread(head(picked.float())[:, 0])


def idle_pass(model: PreTrainedModel, head: Head | None = None) -> Tensor:
    """A pass of one token without effect, in step with other ranks of a sharded base, with gradient if enabled."""
    one = _sequences([[1]], [[1]], model.config.get_text_config().vocab_size)
    if head is None:
        return score(model, one, None).logprobs.sum()
    return _hidden(model, one, "padded")[0].float().sum()


@dataclass(frozen=True, slots=True)
class Layouts:
    available: frozenset[Layout] = frozenset({"padded"})
    usual: Layout = "padded"


def layouts_of(model: PreTrainedModel) -> Layouts:
    """Layouts in which the model's hidden states equal those of padded rows, tested by running it."""
    if model.get_decoder() is model or not all(
        type(layer) is DynamicLayer for layer in DynamicCache(config=model.config).layers
    ):
        return Layouts()
    prompt, completions = [1, 2, 3], [[2, 5, 6], [4, 7]]
    size = model.config.get_text_config().vocab_size
    group = _sequences([prompt] * 2, completions, size)
    mixed = _sequences([prompt, prompt, [8, 9]], [*completions, [1, 3]], size)
    line = packed(mixed, model.device)
    # A layout of two passes would have to be chosen by all ranks of a sharded base together.
    sharded = any(is_sharded(parameter) for parameter in model.parameters())
    trials: dict[Layout, Callable[[], tuple[Tensor, Tensor]]] = {
        "prompt_once": lambda: (_hidden(model, group, "padded")[0], _hidden(model, group, "prompt_once")[0]),
        "packed": lambda: (_hidden(model, mixed, "padded")[0], _in_line(model, line)),
    }
    if sharded:
        del trials["prompt_once"]
    available: set[Layout] = {"padded", *(layout for layout, trial in trials.items() if _agree(model, trial))}
    if model.device.type == "cuda":
        if "packed" in available and loop.__name__ not in line.spans.kernels:
            return Layouts(frozenset(available), "packed")
        reason = (
            "this torch has no kernel for its heads"
            if "packed" in available
            else "its layers do not allow it"
        )
        log.warning("Rows of this %s are not packed: %s.", type(model).__name__, reason)
    return Layouts(frozenset(available), "prompt_once" if "prompt_once" in available else "padded")


def _sequences(prompts: list[list[int]], completions: list[list[int]], vocabulary: int) -> Sequences:
    small = [[[token % vocabulary for token in row] for row in rows] for rows in (prompts, completions)]
    return Sequences(small[0], small[1], 1.0)


def _agree(model: PreTrainedModel, trial: Callable[[], tuple[Tensor, Tensor]]) -> bool:
    with torch.no_grad():
        try:
            apart, shared = trial()
        except Exception as error:
            # A stranger's layers can refuse in any way.
            if is_out_of_memory(error):
                raise
            return False
    tolerance = _TOLERANCE.get(model.dtype, 0.05)
    return bool((apart - shared).abs().max() <= tolerance * apart.abs().max())


def _hidden(model: PreTrainedModel, sequences: Sequences, layout: Layout) -> tuple[Tensor, CompletionTargets]:
    """Hidden states (…, H) that predict completion tokens."""
    if layout == "packed":
        line = packed(sequences, model.device)
        return _in_line(model, line), line.targets
    rows = padded(sequences, model.device)
    targets = rows.targets
    decoder = model.get_decoder()
    if layout == "prompt_once":
        return _states_after_prompt(decoder, sequences.prompts[0], rows)[
            targets.line, targets.column
        ], targets
    if decoder is model:
        # An architecture that does not keep its decoder apart.
        states = model(input_ids=rows.ids, use_cache=False, output_hidden_states=True).hidden_states[-1]
    else:
        states = decoder(input_ids=rows.ids, use_cache=False).last_hidden_state
    return states[targets.line, rows.position], targets


def _in_line(model: PreTrainedModel, line: Packed) -> Tensor:
    with packed_attention(model):
        states: Tensor = model.get_decoder()(
            input_ids=line.ids, position_ids=line.position_ids, use_cache=False, **{KEYWORD: line.spans}
        ).last_hidden_state
    return states.squeeze(0)[line.picked]


def _states_after_prompt(decoder: torch.nn.Module, prompt: Sequence[int], rows: Padded) -> Tensor:
    """Hidden states (n, T, H) that predict completion tokens; the common prompt is computed once."""
    count, longest = rows.targets.shape
    cache = DynamicCache()
    ids = torch.tensor([list(prompt)], device=rows.ids.device)
    states: Tensor = decoder(input_ids=ids, past_key_values=cache, use_cache=True).last_hidden_state
    last = states[:, -1:].expand(count, -1, -1)
    if longest < 2:
        return last
    for layer in cache.layers:
        layer.keys = layer.keys.expand(count, -1, -1, -1)
        layer.values = layer.values.expand(count, -1, -1, -1)
    ids = rows.ids[:, len(prompt) : len(prompt) + longest - 1]
    states = decoder(input_ids=ids, past_key_values=cache, use_cache=True).last_hidden_state
    return torch.cat([last, states], dim=1)


def _identity(logits: Tensor) -> Tensor:
    return logits
