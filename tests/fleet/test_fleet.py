"""Many queued jobs of three projects over four workers that are killed and stopped at random.

Each job runs to its end, once, with nothing lost or doubled; projects take turns; whoever waits is told where it
stands. `make fleet` runs it with 100 jobs, five of them really trained; here there are fewer, since two cores take
some three minutes for those.
"""

import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.running import STEPS, Fleet, Mischief, hashes, wait_for_all
from tests.fleet.stub_trainer import reward

FULL = os.environ.get("REINFORGE_TEST_FLEET") == "full"
QUEUES, REAL, DEEDS, EVERY, WITHIN = (
    ({"a": 60, "b": 25, "c": 15}, 5, 30, 2.0, 540.0) if FULL else ({"a": 12, "b": 8, "c": 4}, 0, 7, 1.5, 75.0)
)
WORKERS = 4
PACE = 0.6 if FULL else 0.2
SEED = 3


@pytest.fixture
def jobs_of(database_url: str, tmp_path: Path) -> Any:
    with Fleet(database_url, tmp_path) as fleet, fleet.backend.rpc_worker():
        yield fleet


def fill(fleet: Fleet) -> dict[str, str]:
    """Queue the longest project first, as if it had come long before the others; id → name."""
    names: dict[str, str] = {}
    for project, count in QUEUES.items():
        fleet.backend.sql(
            "INSERT INTO project (id, name, created_at) VALUES (%s, %s, now())", project, project
        )
        names_by_job = {}
        for number in range(count):
            real = project == "a" and number % 10 == 5 and number // 10 < REAL
            names_by_job[fleet.create(project, number, None if real else PACE)] = f"{project}-{number}"
        fleet.backend.sql("UPDATE job SET project_id = %s WHERE id = ANY(%s)", project, list(names_by_job))
        names |= names_by_job
    return names


def places(fleet: Fleet, keys: dict[str, Any]) -> list[dict[str, Any]]:
    """What the API tells those who wait, all projects together. Asked one after the other, so jobs may go on."""
    queues = []
    for client in keys.values():
        jobs = client.get("/jobs", params={"status": "queued", "limit": 100}).json()["data"]
        queues += [job["queue"] for job in jobs if job["queue"] is not None]  # taken since the list was read
    return queues


@pytest.mark.timeout(int(WITHIN) + 120)
def test_jobs_of_three_projects_end_once_each_and_in_turn_whatever_is_killed(jobs_of: Fleet) -> None:
    fleet, backend = jobs_of, jobs_of.backend
    names = fill(fleet)
    keys = {project: backend.add_key("owner", project) for project in QUEUES}
    queues = places(fleet, keys)
    assert sorted(queue["position"] for queue in queues) == list(range(1, len(names) + 1))
    assert {queue["reason"] for queue in queues} == {"no_worker"}

    began = time.monotonic()
    fleet.start_workers(WORKERS)
    mischief = Mischief(fleet, DEEDS, every=EVERY, seed=SEED)
    while not backend.sql("SELECT 1 FROM attempt LIMIT 1"):
        assert time.monotonic() < began + 30, "no worker has claimed anything"
        time.sleep(0.1)
    mischief.start()
    reasons: set[str] = set()
    while backend.sql("SELECT count(*) FROM job WHERE status = 'queued'")[0][0] > WORKERS:
        assert time.monotonic() < began + WITHIN
        queues = places(fleet, keys)
        assert all(1 <= queue["position"] <= queue["of"] <= len(names) for queue in queues)
        reasons |= {queue["reason"] for queue in queues}
        time.sleep(0.5)
    wait_for_all(backend, list(names), WITHIN - (time.monotonic() - began))
    mischief.stop()
    print(f"{len(names)} jobs in {time.monotonic() - began:.0f} s; {Counter(mischief.done)}")
    assert len(mischief.done) >= DEEDS // 2
    assert "workers_busy" in reasons

    for job, name in names.items():
        check_ended_once(fleet, job, name)
    check_turns(fleet, names)
    assert fleet.trainers() == []


def check_ended_once(fleet: Fleet, job: str, name: str) -> None:
    backend = fleet.backend
    row = backend.sql("SELECT status, attempt, adapter_id, step FROM job WHERE id = %s", job)[0]
    why = backend.sql("SELECT number, outcome, reason FROM attempt WHERE job_id = %s ORDER BY number", job)
    assert (row[0], row[3]) == ("succeeded", STEPS), (name, row, why)
    assert [outcome for _, outcome, _ in why].count("succeeded") == 1 and why[-1][1] == "succeeded", (
        name,
        why,
    )
    assert {outcome for _, outcome, _ in why[:-1]} <= {"lost", "failed"}, (name, why)
    assert [number for number, _, _ in why] == list(range(1, row[1] + 1))
    points = backend.sql(
        "SELECT p.step, p.value FROM metric_point p JOIN metric_series s ON s.id = p.series_id"
        " WHERE s.job_id = %s AND s.key = 'reward/mean' AND s.kind = 'train' ORDER BY p.step",
        job,
    )
    steps = backend.sql("SELECT step FROM event WHERE job_id = %s AND type = 'metrics' ORDER BY step", job)
    assert [step for step, _ in points] == list(range(1, STEPS + 1)), (name, points)
    [(sha256,)] = backend.sql("SELECT sha256 FROM adapter WHERE id = %s", row[2])
    made = backend.get_blob(sha256).content
    if backend.sql("SELECT resolved_spec->'metadata'->>'pace' FROM job WHERE id = %s", job)[0][0] is None:
        assert len(made) > 1000, "a real adapter"
        return
    expected = hashes(name)
    assert [value for _, value in points] == [reward(state) for state in expected]
    assert sum(1 for (step,) in steps if step) <= STEPS, "a step was told twice"
    assert made.decode() == expected[-1]


def check_turns(fleet: Fleet, names: dict[str, str]) -> None:
    """Every project gets its share while it has jobs that wait: the shortest is not the last, though it came last."""
    rows = fleet.backend.sql("SELECT job_id FROM attempt WHERE number = 1 ORDER BY claimed_at")
    order = [names[job].split("-")[0] for (job,) in rows]
    assert len(order) == len(names)
    shortest = min(QUEUES, key=lambda project: QUEUES[project])
    last = max(place for place, project in enumerate(order, 1) if project == shortest)
    assert last <= len(QUEUES) * QUEUES[shortest] + 2 * WORKERS, order
    for upto in range(WORKERS, len(QUEUES) * QUEUES[shortest]):
        counted = Counter(order[:upto])
        assert max(counted.values()) - min(counted[project] for project in QUEUES) <= WORKERS, (upto, counted)
