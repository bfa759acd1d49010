"""Agreement of a reward with a person."""

import pytest

from reinforge.evaluation.calibration import Judged, calibrate, paid, wilson


def judged(right: int, value: float | None, times: int = 1, cost: float | None = None) -> list[Judged]:
    return [Judged(bool(right), value, 100.0, cost)] * times


def test_confusion_and_kappa_by_hand() -> None:
    # 20 right and paid, 5 right and unpaid, 10 wrong and paid, 15 wrong and unpaid: Cohen 1960's classic shape.
    rows = judged(1, 1.0, 20) + judged(1, 0.0, 5) + judged(0, 0.9, 10) + judged(0, 0.1, 15)
    report = calibrate(rows, pass_above=0.5)
    assert (report.right_passed, report.right_failed, report.wrong_passed, report.wrong_failed) == (
        20,
        5,
        10,
        15,
    )
    assert report.agreement == pytest.approx(0.7)
    assert report.kappa == pytest.approx(0.4)  # chance: 0.5 * 0.6 + 0.5 * 0.4 = 0.5
    assert (report.right_share, report.passed_share, report.enough) == (0.5, 0.6, True)


def test_values_that_are_missing_are_not_taken_for_failures() -> None:
    report = calibrate(judged(1, None) + judged(1, 1.0), pass_above=0.5)
    assert (report.labels, report.compared, report.agreement, report.enough) == (2, 1, 1.0, False)


def test_agreement_by_chance_alone_has_no_kappa() -> None:
    assert calibrate(judged(1, 1.0, 9), pass_above=0.5).kappa is None


def test_cost_is_reported_only_where_prices_are() -> None:
    assert calibrate(judged(1, 1.0), pass_above=0.5).cost_per_1000 is None
    assert calibrate(judged(1, 1.0, 4, cost=0.002), pass_above=0.5).cost_per_1000 == pytest.approx(2.0)


def test_wilson_s_interval_against_published_numbers() -> None:
    # Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for (successes, trials), published in {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0000, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }.items():
        assert wilson(successes, trials) == pytest.approx(published, abs=5e-5)


def test_no_labels_yet() -> None:
    report = calibrate([], pass_above=0.5)
    assert (report.compared, report.agreement, report.interval, report.kappa) == (0, None, None, None)


def test_what_was_paid_counts_calls_and_not_what_the_cache_knew() -> None:
    called, cached = {"cost": 0.002, "calls": 1.0}, {"cost": 0.0, "calls": 0.0, "cached_calls": 1.0}
    assert paid({"a": called, "b": called}) == pytest.approx(0.004)
    assert paid({"a": called, "b": cached}) == pytest.approx(0.002)
    assert paid({"a": cached}) is None
    assert paid({"free": {"cost": 0.0, "calls": 1.0}}) is None, "a judge without prices"
    assert paid({}) is None
