"""`make test-long`: a sweep in which every process is killed once."""

import pytest

from tests.chaos.sweep import TRIALS, record


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_a_sweep_survives_a_kill_of_every_process() -> None:
    result = record()
    assert (result["faults"], result["trials"]) == ([], {"succeeded": TRIALS}), result
