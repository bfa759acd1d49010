"""The fair queue between projects: position, reason, and the place of a job whose worker was lost."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from backend.background import Leader
from tests.backend.data.test_background import with_leader
from tests.backend.server import Backend


@pytest.fixture
def line(database_url: str, tmp_path: Path) -> Iterator[Backend]:
    """A backend whose queue is this test's alone."""
    with Backend(database_url, tmp_path) as backend, backend.rpc_worker():
        backend.sql(
            "INSERT INTO project (id, name, created_at) VALUES ('p_b', 'b', now()), ('p_c', 'c', now())"
        )
        yield backend


def queue(backend: Backend, project: str, count: int) -> list[str]:
    """Jobs of this project, oldest first; they are made in the default one, as the helpers do."""
    jobs = [backend.create_job(name=f"{project}{number}") for number in range(1, count + 1)]
    if project != "a":
        backend.sql("UPDATE job SET project_id = %s WHERE id = ANY(%s)", f"p_{project}", jobs)
    return jobs


def claim(backend: Backend, worker: str = "wrk_test") -> dict[str, Any] | None:
    answer = backend.worker_api.post("/jobs/claim", json={"worker": worker})
    assert answer.status_code in (200, 204), answer.text
    return answer.json() if answer.status_code == 200 else None


def name(claimed: dict[str, Any] | None) -> str:
    assert claimed is not None
    return str(claimed["spec"]["name"])


def end(backend: Backend, claimed: dict[str, Any] | None) -> None:
    assert claimed is not None
    backend.sql(
        "UPDATE job SET status = 'cancelled', lease_until = NULL, finished_at = now() WHERE id = %s",
        claimed["job"],
    )


def test_projects_take_turns_with_one_worker(line: Backend) -> None:
    for project, count in (("a", 4), ("b", 2), ("c", 1)):
        queue(line, project, count)
    taken = []
    while (claimed := claim(line)) is not None:
        taken.append(name(claimed))
        end(line, claimed)
    assert taken == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_a_project_with_fewer_running_jobs_comes_first(line: Backend) -> None:
    queue(line, "a", 5)
    held = [claim(line) for _ in range(3)]
    queue(line, "b", 3)
    assert [name(claim(line)) for _ in range(3)] == ["b1", "b2", "b3"]
    end(line, held[0])
    end(line, held[1])
    assert name(claim(line)) == "a4"


def test_workers_that_ask_at_the_same_moment_do_not_all_get_the_first_projects_jobs(line: Backend) -> None:
    for project, count in (("a", 6), ("b", 2), ("c", 2)):
        queue(line, project, count)
    with ThreadPoolExecutor(6) as pool:
        taken = [name(answer) for answer in pool.map(lambda number: claim(line, f"wrk_{number}"), range(6))]
    assert sorted(taken) == ["a1", "a2", "b1", "b2", "c1", "c2"]


def test_position_and_reason_are_reported(line: Backend) -> None:
    jobs = queue(line, "a", 3) + queue(line, "b", 1)

    def places() -> list[tuple[int, int, str, int]]:
        jobs = line.api.get("/jobs").json()["data"][::-1]
        assert [line.job(job["id"])["queue"] for job in jobs] == [job["queue"] for job in jobs]
        return [tuple(job["queue"].values())[:4] for job in jobs if job["queue"]]

    assert places() == [(1, 4, "no_worker", 0), (3, 4, "no_worker", 0), (4, 4, "no_worker", 0)]
    line.register("wrk_1")
    line.register("wrk_calls", kind="calls")
    assert places() == [(1, 4, "about_to_start", 1), (3, 4, "workers_busy", 1), (4, 4, "workers_busy", 1)]
    assert name(claim(line, "wrk_1")) == "a1"
    assert line.job(jobs[0])["queue"] is None
    assert places() == [(2, 3, "workers_busy", 1), (3, 3, "workers_busy", 1)]


def test_a_job_that_waits_for_a_gpu_says_so(line: Backend) -> None:
    job = queue(line, "a", 1)[0]
    line.register("wrk_1", waits_for="every GPU is taken (GPU 0: calls)")
    place = line.job(job)["queue"]
    assert place["reason"] == "workers_busy" and place["notice"] == "here: every GPU is taken (GPU 0: calls)."
    notices = {worker["id"]: worker["notice"] for worker in line.api.get("/workers").json()["data"]}
    assert notices["wrk_1"] == "The worker does not take jobs: every GPU is taken (GPU 0: calls)."
    line.register("wrk_1")
    assert (line.job(job)["queue"]["reason"], line.job(job)["queue"]["notice"]) == ("about_to_start", None)


def test_the_reported_positions_are_the_order_in_which_jobs_are_taken(line: Backend) -> None:
    for project, count in (("a", 5), ("b", 3), ("c", 1)):
        queue(line, project, count)
    end(line, claim(line))
    names = {}
    for project in ("default", "b", "c"):
        jobs = line.add_key("owner", project).get("/jobs", params={"status": "queued"}).json()["data"]
        names |= {job["queue"]["position"]: job["name"] for job in jobs}
    assert sorted(names) == list(range(1, 9))
    assert [name(claim(line, f"wrk_{n}")) for n in range(8)] == [names[place] for place in sorted(names)]


def test_a_job_whose_worker_was_lost_keeps_its_place_in_its_project(line: Backend) -> None:
    first, *_ = queue(line, "a", 3)
    claim(line)
    line.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", first)
    line.sweep()
    assert name(claim(line)) == "a1"


def test_a_job_that_is_resumed_comes_after_those_that_wait(line: Backend) -> None:
    first, *_ = queue(line, "a", 2)
    assert line.api.post(f"/jobs/{first}/pause").status_code == 200
    assert line.api.post(f"/jobs/{first}/resume").status_code == 200
    assert name(claim(line)) == "a2"


def test_a_project_whose_budget_is_used_up_does_not_hold_up_the_line(line: Backend) -> None:
    [first, second] = queue(line, "a", 2)
    queue(line, "b", 1)
    line.sql(
        "INSERT INTO budget (project_id, kind, period, amount, created_at)"
        " SELECT id, 'device_seconds', 'total', 0, now() FROM project WHERE name = 'default'"
    )
    assert name(claim(line)) == "b1"
    assert [line.job(job)["reason"] for job in (first, second)] == ["budget", "budget"]


def test_only_workers_that_have_nothing_to_do_are_woken_again(line: Backend) -> None:
    jobs = queue(line, "a", 5)
    folder = line.home / "broker" / "queue"

    def woken() -> int:
        for path in folder.iterdir():
            path.unlink()
        line.sql("UPDATE job SET woken_at = now() - interval '21 s' WHERE id = ANY(%s)", jobs)
        with_leader(line, Leader.wake_ups_again)
        return len(list(folder.iterdir()))

    assert woken() == 0, "nobody is there"
    for worker in ("wrk_1", "wrk_2", "wrk_3"):
        line.register(worker)
    assert woken() == 3
    claim(line, "wrk_1")
    claim(line, "wrk_2")
    assert woken() == 1
