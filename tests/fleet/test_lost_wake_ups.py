"""Wake-ups that do not arrive: sent again, so that a broker that forgets everything costs a queued job 30 s at most. A
worker that reads from another broker finds jobs by asking."""

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


@pytest.fixture(params=[pytest.param("folder", marks=pytest.mark.long), "redis"])
def fleet_and_flush(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path
) -> Iterator[tuple[Fleet, Callable[[], None]]]:
    """With Redis as the broker, or a folder, and what empties it."""
    if request.param == "redis":
        with (
            redis_server(tmp_path) as (url, port),
            Fleet(database_url, tmp_path, url, TEST_POLL_SECONDS="3600") as fleet,
            fleet.backend.rpc_worker(),
        ):
            yield fleet, lambda: _flush_all(port)
    else:
        with Fleet(database_url, tmp_path, TEST_POLL_SECONDS="3600") as fleet, fleet.backend.rpc_worker():
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


@pytest.mark.long
def test_a_second_worker_with_a_home_of_its_own_runs_a_job_while_the_first_is_busy(
    database_url: str, tmp_path: Path
) -> None:
    """Its folder broker is not the backend's, so no wake-up reaches it."""
    with Fleet(database_url, tmp_path) as fleet, fleet.backend.rpc_worker():
        backend = fleet.backend
        fleet.start_workers(1)
        fleet.start_workers(1, home=tmp_path / "other")
        # A cancelled job ends with its step.
        long = [fleet.create("a", number, pace=8) for number in (1, 2)]
        short = fleet.create("a", 3, pace=0.05)
        query = "SELECT worker_id FROM attempt WHERE job_id = ANY(%s)"
        eventually(lambda: len(backend.sql(query, long)) == 2, within=40, what="a job for each worker")
        assert len(set(backend.sql(query, long))) == 2, "both on one worker"
        assert backend.job(short)["queue"]["reason"] == "workers_busy"
        workers = [
            worker for worker in backend.api.get("/workers").json()["data"] if worker["kind"] == "trainer"
        ]
        assert [worker["busy"] for worker in workers] == [True, True]
        notices = [worker["notice"] for worker in workers if worker["notice"]]
        assert len(notices) == 1
        assert f"it reads them from the folder {tmp_path / 'other' / 'broker'}" in notices[0]
        for job in long:
            backend.api.post(f"/jobs/{job}/cancel")
        wait_for_all(backend, [*long, short], within=60)
        assert backend.job(short)["status"] == "succeeded"
