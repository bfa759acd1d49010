"""The first difference of two runs."""

import math
from typing import Any

import pytest

from reinforge.comparison.divergence import metric_difference, row_difference


def row(sample_no: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "prompt_no": 0, "sample_no": sample_no, "prompt_hash": "h", "prompt": "1+1=", "token_ids": [5, 6, 7],
        "tokens": ["a", "b", "c"], "sampler_logprobs": [-0.5, -0.25, math.nan], "reward": 1.0, "advantage": 0.5,
        "trainer_logprobs": [-0.5, -0.25, -1.0], "entropies": None,
    } | changes  # fmt: skip


def test_equal_rows_do_not_differ() -> None:
    assert row_difference(1, "train", [row(), row(1)], [row(), row(1)]) is None


def test_what_a_step_computes_first_counts() -> None:
    """The token of the second completion comes before the reward of the first."""
    other = [row(reward=0.0), row(1, token_ids=[5, 9, 7], tokens=["a", "X", "c"])]
    difference = row_difference(4, "train", [row(), row(1)], other)
    assert difference is not None
    assert (difference.what, difference.sample_no, difference.token) == ("token", 1, 1)
    assert (difference.values, difference.before, difference.step) == (["b", "X"], "a", 4)


def test_a_completion_that_goes_on_parts_where_the_other_ends() -> None:
    difference = row_difference(1, "train", [row()], [row(token_ids=[5, 6], tokens=["a", "b"])])
    assert difference is not None
    assert (difference.token, difference.values) == (2, ["c", None])


@pytest.mark.parametrize(
    ("change", "what", "values"),
    [
        ({"prompt_hash": "g", "prompt": "2+2="}, "prompt", ["1+1=", "2+2="]),
        ({"sampler_logprobs": [-0.5, -0.2500001, math.nan]}, "sampler_logprobs", [-0.25, -0.2500001]),
        ({"reward": None}, "reward", [1.0, None]),
        ({"trainer_logprobs": None}, "trainer_logprobs", [-0.5, None]),
    ],
)
def test_numbers_are_compared_to_the_bit(change: dict[str, Any], what: str, values: list[Any]) -> None:
    difference = row_difference(1, "train", [row()], [row(**change)])
    assert difference is not None
    assert (difference.what, difference.values) == (what, values)


def test_other_conversations_of_a_rollout_are_compared() -> None:
    branch = {"branch": 1, "token_ids": [8, 9], "tokens": ["x", "y"], "sampler_logprobs": [-1.0, -1.0]}
    other = branch | {"token_ids": [8, 4], "tokens": ["x", "Z"]}
    difference = row_difference(1, "train", [row(branches=[branch])], [row(branches=[other])])
    assert difference is not None
    assert (difference.what, difference.token, difference.values) == ("token", 1, ["y", "Z"])
    difference = row_difference(1, "train", [row(branches=[branch])], [row(branches=None)])
    assert difference is not None and difference.what == "completions"


def test_another_number_of_completions() -> None:
    difference = row_difference(1, "train", [row()], [row(), row(1)])
    assert difference is not None
    assert (difference.what, difference.sample_no, difference.values) == ("completions", 1, [1, 2])


def test_metrics_of_time_and_memory_do_not_count() -> None:
    one: dict[str, float | None] = {
        "reward/mean": 0.5,
        "time/step": 1.0,
        "memory/peak": 2.0,
        "policy/kl": None,
    }
    other = one | {"time/step": 9.0, "memory/peak": 3.0, "throughput/tokens_per_second": 4.0}
    assert metric_difference(2, "train", one, other) is None
    difference = metric_difference(2, "train", one, one | {"policy/kl": 0.1})
    assert difference is not None
    assert (difference.key, difference.values) == ("policy/kl", [None, 0.1])
