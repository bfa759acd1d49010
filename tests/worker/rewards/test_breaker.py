"""When errors pause the job."""

import pytest

from worker.rewards.base import RewardResult, RewardsFailed, Score
from worker.rewards.circuit_breaker import Breaker

FINE = Score((RewardResult("r", "ok", 1.0),), None, False)
BAD = Score((RewardResult("r", "exception", None, message="Traceback: a"),), "exception", True)
OTHER = Score((RewardResult("r", "timeout", None, message="too slow"),), "timeout", True)
ZEROED = Score((RewardResult("r", "exception", 0.0, message="Traceback: a"),), "exception", False)


def test_all_rows_of_one_step_pause_at_once_with_the_most_frequent_traceback() -> None:
    with pytest.raises(RewardsFailed) as caught:
        Breaker(0.2).check([OTHER, BAD, BAD])
    assert caught.value.traceback == "Traceback: a"
    assert "Every one of 3" in caught.value.message
    assert "exception" in caught.value.message


def test_a_share_pauses_only_over_three_steps() -> None:
    breaker = Breaker(0.2)
    step = [BAD] * 3 + [FINE] * 7
    breaker.check(step)
    breaker.check(step)
    with pytest.raises(RewardsFailed, match="9 of 30"):
        breaker.check(step)


def test_a_share_at_the_limit_goes_on() -> None:
    breaker = Breaker(0.2)
    for _ in range(6):
        breaker.check([BAD] * 2 + [FINE] * 8)


def test_only_the_last_three_steps_count() -> None:
    breaker = Breaker(0.2)
    breaker.check([BAD] * 9 + [FINE])
    breaker.check([FINE] * 40)
    for _ in range(3):
        breaker.check([BAD] * 2 + [FINE] * 8)
    assert breaker.window == [(2, 10)] * 3


def test_rows_counted_as_zero_do_not_add_up_but_a_whole_step_of_them_pauses() -> None:
    breaker = Breaker(0.2)
    for _ in range(5):
        breaker.check([ZEROED] * 9 + [FINE])
    with pytest.raises(RewardsFailed):
        breaker.check([ZEROED] * 10)


def test_the_window_can_be_carried_over() -> None:
    breaker = Breaker(0.2, window=[(3, 10), (3, 10)])
    with pytest.raises(RewardsFailed):
        breaker.check([BAD] * 3 + [FINE] * 7)
