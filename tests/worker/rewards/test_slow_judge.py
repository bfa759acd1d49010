"""A judge that takes a minute to answer is waited for, wherever it is asked.

The minute is three seconds here, and the time-out as much shorter. REINFORGE_TEST_JUDGE_SECONDS=60 takes the real ones.
"""

import os
import time

import pytest

from backend.jobs.lifecycle import leases
from backend.rewards import service
from backend.settings import Settings
from reinforge.client.protocol import WORKER_SECONDS
from reinforge.reward_spec.judges import Judge
from reinforge.schemas.judges import JudgeCreate
from tests.support.judge_stub import JudgeRequest, Reply, judged
from tests.worker.rewards.test_judge import one
from worker.supervisor import watchdog

SLOW = 60.0
SECONDS = float(os.environ.get("REINFORGE_TEST_JUDGE_SECONDS", 3))
DEFAULT = Judge(base_url="http://127.0.0.1:9/v1", model="m")


def slow(_: JudgeRequest, __: int) -> Reply:
    time.sleep(SECONDS)
    return judged(7)


@pytest.mark.timeout(300)
def test_a_slow_judge_is_waited_for() -> None:
    result = one(slow, timeout_seconds=DEFAULT.timeout_seconds * SECONDS / SLOW, retries=0)
    assert (result.status, result.value) == ("ok", 7.0)
    assert result.wall_ms >= 1000 * SECONDS


def test_one_that_takes_longer_than_its_time_out_is_cut() -> None:
    result = one(lambda *_: Reply(hang=True), timeout_seconds=0.2, retries=0)
    assert (result.status, result.code) == ("judge_error", "judge_timeout")


def test_every_limit_in_the_chain_leaves_room() -> None:
    created = JudgeCreate(name="j", base_url=DEFAULT.base_url, model="m")
    assert created.timeout_seconds == DEFAULT.timeout_seconds >= 2 * SLOW, "not a coin toss"
    # Where rewards are tried: two rounds of rows, and the client that waits for them.
    assert 2 * DEFAULT.timeout_seconds < service.JUDGED_SECONDS < WORKER_SECONDS
    # In a job: the watchdog hears of every prompt, whose judge may be asked as often as it is retried.
    assert watchdog.SECONDS["scoring"] > (1 + DEFAULT.retries) * DEFAULT.timeout_seconds
    # Heartbeats come from another process than the one that waits; how long a job that is to stop may go on.
    assert leases.STOP_SECONDS > SLOW
    assert Settings(_env_file=None).lease_seconds < SLOW, (
        "so nothing here may depend on the trainer's own reports"
    )
