"""Checks that a vLLM server samples from the trained policy, by comparing log-probabilities.

In bfloat16, published mean differences are 0.02 to 0.04 nats (trl issue 6789, vLLM issue 18352).
"""

import math
from collections.abc import Sequence
from typing import Literal

LARGEST_GAP = 1e-3
BASE_FACTOR, BASE_ROOM = 2.0, 0.02
"""Limit of the mean gap in bfloat16: BASE_FACTOR times the base model's gap, plus BASE_ROOM nats."""
MOST_GAP = 0.3
CHANGED = 1e-4
_VISIBLE = 12.0
"""Least ratio of the adapter's effect to the standard error of rounding."""
_APPLIED = 0.4
_SILENT = 0.25

Verdict = Literal["agree", "apart", "mismatch"]
Response = Literal["applied", "unseen", "left_out", "other"]


def verdict(base_gap: float, adapter_gap: float, exact: bool) -> Verdict:
    """Judge gaps of log-probabilities (nats). `apart`: more than rounding, less than wrong weights;
    importance weights correct for it.
    """
    if exact:
        return "agree" if adapter_gap <= LARGEST_GAP else "mismatch"
    if not max(base_gap, adapter_gap) <= MOST_GAP or math.isnan(base_gap + adapter_gap):
        return "mismatch"
    return "agree" if adapter_gap <= BASE_FACTOR * base_gap + BASE_ROOM else "apart"


def response(server: Sequence[float], trainer: Sequence[float], noise: float) -> Response:
    """Judge whether the server applies the adapter, from the slope of its effects on the server over those in
    the trainer: 1 if applied, 0 if not. noise: root mean square of the base model's gaps.
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
