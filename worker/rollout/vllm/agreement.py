"""Checks from log-probabilities that a vLLM server samples from the trained policy.

In float32 they agree to 1e-3. In bfloat16 each rounds otherwise, by an amount that depends on the model: published
mean differences without any adapter are 0.02 to 0.04 nats (Qwen 2.5 0.5B, trl issue 6789 and Fast-LLM pull request 525;
Qwen 3 1.7B, vLLM issue 18352), more for mixtures of experts. There the server's gap for the base model is the measure.
"""

import math
from collections.abc import Sequence
from typing import Literal

LARGEST_GAP = 1e-3
"""In nats, of one token's log-probability between trainer and server, both in float32."""
BASE_FACTOR, BASE_ROOM = 2.0, 0.02
"""In bfloat16 the policy's mean gap may be this many times the base model's, and this much (nats) more."""
MOST_GAP = 0.3
"""In nats: a larger mean gap is no rounding, whatever the base model's is."""
CHANGED = 1e-4
"""In nats: an adapter that the trainer sees move a token by more than this must move it on the server, in float32."""
_VISIBLE = 12.0
"""Standard errors that the adapter's effect must be away from rounding before its absence proves anything."""
_APPLIED = 0.4
"""Of the trainer's effect that the server must show: 5 standard errors below 1, 3 above 0 where it is just visible."""
_SILENT = 0.25
"""Of the trainer's effect: less on the server is no effect."""

Verdict = Literal["agree", "apart", "mismatch"]
Response = Literal["applied", "unseen", "left_out", "other"]


def verdict(base_gap: float, adapter_gap: float, exact: bool) -> Verdict:
    """`apart`: more than rounding explains and less than wrong weights cause; importance weights correct for it.

    exact: everything is in float32; then `adapter_gap` is the largest gap of a token. Else both are means over tokens,
    of completions of the base model and of the policy. NaN is a mismatch.
    """
    if exact:
        return "agree" if adapter_gap <= LARGEST_GAP else "mismatch"
    if not max(base_gap, adapter_gap) <= MOST_GAP or math.isnan(base_gap + adapter_gap):
        return "mismatch"
    return "agree" if adapter_gap <= BASE_FACTOR * base_gap + BASE_ROOM else "apart"


def response(server: Sequence[float], trainer: Sequence[float], noise: float) -> Response:
    """What the server makes of the adapter. server, trainer: per token, log-probability with the adapter minus without.
    noise: root mean square of the base model's gaps.

    The server's effect is regressed on the trainer's: the slope is 1 where the adapter is applied and 0 where it is
    left out or another one is, give or take √2 · noise / (√n · effect).
    """
    effect, server_effect = root_mean_square(trainer), root_mean_square(server)
    if not effect >= max(CHANGED, _VISIBLE * noise / math.sqrt(max(1, len(trainer)))):
        return "unseen"
    slope = sum(a * b for a, b in zip(server, trainer, strict=True)) / (effect**2 * len(trainer))
    if slope >= _APPLIED:
        return "applied"
    return "left_out" if server_effect <= _SILENT * effect else "other"


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(mean([value * value for value in values]))
