"""Summaries of learning runs, by hand."""

import pytest
from common.folder import Series
from common.learned import ACCURACY, ends, mean, median_range, of_run, over_seeds, steps_to
from common.runs import Result


def accuracy(*values: float | None) -> Series:
    return Series([5 * number for number in range(len(values))], {ACCURACY: list(values)})


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ((0.6, 0.8, 0.9, 0.95), 10),
        ((0.6, 0.95, 0.8, 0.9, 0.9), 15),
        ((0.6, 0.8, 0.95), None),
        ((0.95, None, 0.9), 0),
        ((), None),
    ],
)
def test_a_level_is_reached_when_two_evaluations_say_so(
    values: tuple[float | None, ...], step: int | None
) -> None:
    assert steps_to(accuracy(*values), ACCURACY, 0.9) == step


def test_medians_count_a_run_that_never_got_there_as_later_than_all() -> None:
    assert median_range([10, 30, 20]) == [20, 10, 30]
    assert median_range([10, None, 20]) == [20, 10, None]
    assert median_range([10, None, None]) == [None, 10, None]
    assert median_range([10, None]) == [None, 10, None]
    assert median_range([10, 20]) == [15, 10, 20]
    assert median_range([]) == [None, None, None]


def test_a_run_is_summarised_by_its_ends_and_means() -> None:
    train = Series(
        [1, 2, 3, 4],
        {
            "entropy/mean": [1.0, 2.0, 3.0, 7.0],
            "policy/clip_low_share": [0.0, None, 0.001, 0.002],
            "memory/peak": [0.5, 0.6, 0.6, 0.6],
        },
    )
    held_out = accuracy(0.5, 0.86, 0.91, 0.95)
    held_out.values["held_out/length_mean"] = [20.0, 30.0, 40.0, 44.44]
    summary = of_run(
        Result(name="a", seed=2, digest="", outcome="stopped", step=4, train=train, held_out=held_out)
    )
    assert (summary["start"], summary["end"], summary["to_85"], summary["to_90"]) == (0.5, 0.95, 5, 10)
    assert summary["entropy"] == [2.0, 4.0]
    assert summary["length"] == [20.0, 44.4]
    assert (summary["clip_low"], summary["clip_high"]) == (0.001, None)
    assert summary["curve"] == [[0, 0.5], [5, 0.86], [10, 0.91], [15, 0.95]]


def test_seeds_come_to_medians_and_ranges() -> None:
    curves = ((0.5, 0.9, 0.9), (0.5, 0.6, 0.7), (0.6, 0.9, 0.94))
    runs = [
        of_run(Result(name="a", seed=seed, digest="", outcome="stopped", held_out=accuracy(*values), seconds=seed * 10))
        for seed, values in enumerate(curves)
    ]  # fmt: skip
    summary = over_seeds(runs)
    assert summary["end"] == [0.9, 0.7, 0.94]
    assert summary["to_90"] == [5, 5, None]
    assert summary["seconds"] == [10, 0, 20]
    assert summary["entropy"] is None


def test_a_run_without_any_step_has_no_numbers() -> None:
    summary = of_run(Result(name="a", seed=0, digest="", outcome="crashed"))
    assert summary["curve"] == []
    assert summary["start"] is summary["entropy"] is summary["length"] is summary["to_90"] is None
    assert ends(Series(), "x", 3) is None
    assert mean(Series(), "x") is None
