"""Old and new revision of a reward beside each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reinforge.evaluation.replay import Rescored, compare, mean_ranks, rank_correlation


def row(
    step: int, prompt: int, sample: int, old: float | None, new: float | None, status: str = "ok"
) -> Rescored:
    return Rescored(step, prompt, sample, old, new, status, f"{step}.{prompt}.{sample}", 2.0)


def test_curves_flips_and_errors_by_hand() -> None:
    rows = [
        row(1, 0, 0, 1.0, 1.0),
        row(1, 0, 1, 0.0, 0.6),
        row(2, 0, 0, 1.0, 0.2),
        row(2, 0, 1, 0.0, 0.0),
        row(2, 1, 0, 1.0, None, "timeout"),
        row(2, 1, 1, None, 1.0),
    ]
    report = compare(rows, pass_above=0.5)
    assert (report.completions, report.compared, report.steps) == (6, 4, [1, 2])
    assert report.old_mean == [0.5, 0.5]
    assert report.new_mean == pytest.approx([0.8, 0.1])
    assert [(flip.step, flip.sample_no, flip.old, flip.new) for flip in report.shown_flips] == [
        (2, 0, 1.0, 0.2),
        (1, 1, 0.0, 0.6),
    ], "the largest change first"
    assert report.errors == {"timeout": 1}
    assert report.same_order == 1.0
    assert (report.old_useful, report.new_useful, report.reward_ms) == (1.0, 1.0, 2.0)


def test_a_revision_that_turns_everything_round() -> None:
    rows = [row(1, 0, sample, float(sample), -float(sample)) for sample in range(8)]
    report = compare(rows, pass_above=0.5)
    assert (report.rank_correlation, report.same_order) == (pytest.approx(-1.0), 0.0)


def test_a_constant_revision_has_no_order_and_teaches_nothing() -> None:
    report = compare([row(1, 0, sample, float(sample), 1.0) for sample in range(4)], pass_above=0.5)
    assert (report.rank_correlation, report.same_order, report.new_useful) == (None, 0.0, 0.0)


def test_nothing_to_compare_is_a_report_too() -> None:
    assert compare([], pass_above=0.5).compared == 0
    assert compare([row(1, 0, 0, None, None, "exception")], pass_above=0.5).errors == {"exception": 1}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_rank_correlation_is_scipy_s(pairs: list[tuple[int, int]]) -> None:
    first, second = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    assert mean_ranks(first) == list(stats.rankdata(first))
    ours = rank_correlation(first, second)
    if len(set(first)) > 1 and len(set(second)) > 1:
        assert ours == pytest.approx(stats.spearmanr(first, second).statistic)
    else:
        assert ours is None
