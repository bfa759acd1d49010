"""A broker that forgets everything costs a queued job 30 s at most: wake-ups are sent again."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.running import Fleet, wait_for_all
from tests.support.processes import eventually
from tests.support.redis import redis_server

AT_MOST_SECONDS = 30.0


@pytest.fixture(params=["folder", "redis"])
def fleet_and_flush(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path
) -> Iterator[tuple[Fleet, Callable[[], None]]]:
    """With Redis as the broker, or a folder, and what empties it."""
    if request.param == "redis":
        with (
            redis_server(tmp_path) as (url, port),
            Fleet(database_url, tmp_path, url) as fleet,
            fleet.backend.lane(),
        ):
            yield fleet, lambda: _flush_all(port)
    else:
        with Fleet(database_url, tmp_path) as fleet, fleet.backend.lane():
            yield fleet, lambda: _empty(fleet.home / "broker" / "queue")


def _flush_all(port: int) -> None:
    program = shutil.which("redis-cli")
    assert program is not None
    done = subprocess.run([program, "-p", str(port), "FLUSHALL"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "OK"


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def test_an_emptied_broker_delays_a_job_by_half_a_minute_at_most(
    fleet_and_flush: tuple[Fleet, Callable[[], None]],
) -> None:
    fleet, flush = fleet_and_flush
    job = fleet.create("a", 1, pace=0.05)
    flush()
    lost_at = time.monotonic()
    fleet.start_workers(1)
    eventually(
        lambda: fleet.backend.job(job)["queue"]["reason"] == "about_to_start", what="a worker that is there"
    )
    time.sleep(2)
    assert fleet.backend.job(job)["status"] == "queued", "the message was not lost"
    eventually(
        lambda: fleet.backend.job(job)["attempt"] == 1, within=AT_MOST_SECONDS + 5, what="another wake-up"
    )
    assert time.monotonic() - lost_at < AT_MOST_SECONDS
    wait_for_all(fleet.backend, [job], within=30)
