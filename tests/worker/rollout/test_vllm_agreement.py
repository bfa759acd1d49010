"""Rounding passes, wrong weights do not: the probe's decisions at published gaps of bfloat16."""

import math
import random

import pytest

from worker.rollout.vllm.agreement import response, verdict


@pytest.mark.parametrize(
    ("base", "adapter"),
    [
        (0.037, 0.037),  # trl issue 6789, Qwen2.5-0.5B: a Laplace distribution with its spread
        (0.022, 0.029),  # Fast-LLM pull request 525
        (0.039, 0.06),  # vLLM issue 18352, Qwen3-1.7B
        (0.0013, 0.0013),  # the starter model
        (0.12, 0.2),  # a mixture of experts
        (0.0, 0.0),
    ],
)
def test_rounding_of_bfloat16_is_agreement(base: float, adapter: float) -> None:
    assert verdict(base, adapter, exact=False) == "agree"


@pytest.mark.parametrize(
    ("base", "adapter", "judged"),
    [
        (0.037, 0.1, "apart"),
        (0.0013, 0.05, "apart"),
        (0.14, 0.299, "agree"),
        (0.14, 0.31, "mismatch"),  # in any case
        (0.037, 1.5, "mismatch"),  # other weights
        (1.5, 1.5, "mismatch"),  # another base model
        (0.037, math.nan, "mismatch"),
        (math.nan, 0.037, "mismatch"),
        (math.inf, 0.037, "mismatch"),
    ],
)
def test_what_rounding_does_not_explain(base: float, adapter: float, judged: str) -> None:
    assert verdict(base, adapter, exact=False) == judged


@pytest.mark.parametrize(
    ("largest", "judged"), [(1.4e-6, "agree"), (1e-3, "agree"), (1.1e-3, "mismatch"), (math.nan, "mismatch")]
)
def test_float32_has_to_agree_to_a_thousandth(largest: float, judged: str) -> None:
    assert verdict(0.5, largest, exact=True) == judged


def effects(size: float, noise: float, applied: float, seed: int) -> tuple[list[float], list[float]]:
    """128 tokens: the server's and the trainer's; the server shows `applied` of it, and rounding of its own."""
    chance = random.Random(seed)
    trainer = [chance.gauss(0, size) for _ in range(128)]
    return [applied * value + chance.gauss(0, noise) for value in trainer], trainer


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [0.06, 0.1, 1.0])
def test_an_applied_adapter_is_detected_despite_rounding(size: float, seed: int) -> None:
    assert response(*effects(size, 0.05, 1.0, seed), noise=0.05) in ("applied", "unseen")
    assert response(*effects(2 * size, 0.05, 1.0, seed), noise=0.05) == "applied"


@pytest.mark.parametrize("seed", range(20))
def test_an_adapter_that_is_left_out_or_another_one_is_caught(seed: int) -> None:
    assert response([0.0] * 128, effects(0.1, 0.05, 1.0, seed)[1], noise=0.05) == "left_out"
    assert response(*effects(0.4, 0.05, 0.0, seed), noise=0.05) == "left_out"
    other = effects(0.3, 0.05, 1.0, seed + 100)[0]
    assert response(other, effects(0.3, 0.05, 1.0, seed)[1], noise=0.05) == "other"


def test_an_effect_below_rounding_proves_nothing() -> None:
    assert response(*effects(0.01, 0.05, 1.0, 0), noise=0.05) == "unseen"
    assert response(*effects(0.01, 0.05, 0.0, 0), noise=0.05) == "unseen"
    assert response([math.nan], [math.nan], noise=0.05) == "unseen"  # `verdict` is asked, too
    assert response([], [], noise=0.0) == "unseen"
