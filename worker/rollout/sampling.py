"""Sampling of next tokens by inverse transform."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


def choose(
    logits: Tensor,
    noise: npt.NDArray[np.float64],
    *,
    temperature: float,
    top_p: float,
    entropies: bool = False,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Sample a token for each row of logits (rows, vocabulary) with uniform noise (rows,). Returns tokens
    and, before top-p, log-probabilities (float32) and entropies (nats), each (rows,).
    """
    scaled = logits.float() / (temperature or 1.0)
    logprobs = torch.log_softmax(scaled, dim=-1)
    if temperature == 0:
        tokens = logprobs.argmax(-1)
    else:
        probabilities = logprobs.double().exp()
        if top_p < 1:
            probabilities = _nucleus(probabilities, top_p)
        cumulative = probabilities.cumsum(-1)
        target = torch.from_numpy(noise).to(logits.device)[:, None] * cumulative[:, -1:]
        # The first token whose cumulative probability exceeds the target: never one of probability 0.
        tokens = torch.searchsorted(cumulative, target, right=True)[:, 0].clamp(max=logits.shape[-1] - 1)
    token_entropies = entropy(logprobs) if entropies else None
    return tokens, logprobs.gather(-1, tokens[:, None])[:, 0], token_entropies


def entropy(logprobs: Tensor) -> Tensor:
    # A token of probability 0 adds 0, not 0 · -inf.
    return -(logprobs.exp() * logprobs.clamp(min=torch.finfo(logprobs.dtype).min)).sum(-1)


def _nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    ordered, index = probabilities.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    return torch.zeros_like(probabilities).scatter(-1, index, torch.where(before < top_p, ordered, 0.0))
