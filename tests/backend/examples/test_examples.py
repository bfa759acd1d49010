"""Examples: listed, started once, reused, refused as a whole, one project at a time."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from reinforge.offline.examples import NAMES
from tests.backend.server import REWARD, Backend, agree_render

EXAMPLE = "multiple-choice"


def start(backend: Backend, name: str = EXAMPLE, client: httpx.Client | None = None) -> httpx.Response:
    return (client or backend.api).post(f"/examples/{name}/start", timeout=120)


def counts(backend: Backend) -> tuple[int, int]:
    project = backend.api.get("/project/counts").json()
    return project["datasets"], project["rewards"]


@pytest.fixture(autouse=True)
def _ended(backend: Backend) -> None:
    for job in backend.api.get("/jobs", params={"limit": 100}).json()["data"]:
        backend.api.post(f"/jobs/{job['id']}/cancel")


def test_the_list_has_every_example_with_its_result(backend: Backend) -> None:
    listed: list[dict[str, Any]] = backend.api.get("/examples").json()["data"]
    assert [one["name"] for one in listed] == list(NAMES)
    for one in listed:
        assert one["title"] and one["summary"] and one["rows"] and one["held_out_rows"] and one["job"] is None
    detail = backend.api.get(f"/examples/{EXAMPLE}").json()
    assert detail["readme"].startswith(f"# {detail['title']}")
    assert "starter-arith" in detail["job_file"] and "def grade(" in detail["rewards"]["reward.py"]


def test_an_example_becomes_a_queued_job(backend: Backend) -> None:
    name = "rubric"
    with backend.rpc_worker():
        answer = start(backend, name)
    assert answer.status_code == 201, answer.text
    job = answer.json()
    assert (job["status"], job["spec"]["metadata"]["example"]) == ("queued", name)
    assert job["resolved_spec"]["data"]["held_out"].startswith("file-")
    assert job["resolved_spec"]["rewards"][0]["reward"].startswith("rew_")
    [listed] = [one for one in backend.api.get("/examples").json()["data"] if one["name"] == name]
    assert (job["name"].startswith(listed["title"]), listed["job"]) == (True, job["id"])


def test_a_second_start_finds_the_job_and_after_its_end_the_files(backend: Backend) -> None:
    with backend.rpc_worker():
        first = start(backend).json()
        again = start(backend)
        assert (again.status_code, again.json()["id"]) == (200, first["id"])
        before = counts(backend)
        backend.api.post(f"/jobs/{first['id']}/cancel")
        second = start(backend)
    assert (second.status_code, second.json()["id"] != first["id"]) == (201, True)
    assert second.json()["dataset"] == first["dataset"] and counts(backend) == before


def test_several_at_once_make_one_job(backend: Backend) -> None:
    answers: list[httpx.Response] = []
    with backend.rpc_worker():
        threads = [threading.Thread(target=lambda: answers.append(start(backend))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sorted(answer.status_code for answer in answers) == [200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_an_edited_reward_of_the_same_name_stays_as_it_is(backend: Backend) -> None:
    with backend.rpc_worker():
        first = start(backend).json()
        reward = first["resolved_spec"]["rewards"][0]["reward"]
        changed = backend.api.post(
            f"/rewards/{reward}/revisions", json={"source": REWARD}, headers={"if-match": "*"}
        )
        assert changed.status_code == 201, changed.text
        backend.api.post(f"/jobs/{first['id']}/cancel")
        second = start(backend).json()
    assert (
        second["resolved_spec"]["rewards"][0]["reward"],
        second["resolved_spec"]["rewards"][0]["revision"],
    ) == (
        reward,
        first["resolved_spec"]["rewards"][0]["revision"],
    )
    newest = backend.api.get(f"/rewards/{reward}").json()
    assert newest["revisions"][0]["source"] == REWARD


@pytest.fixture
def other(backend: Backend) -> Iterator[httpx.Client]:
    """Another project's editor."""
    name = f"other {time.monotonic_ns()}"
    backend.sql("INSERT INTO project (id, name, created_at) VALUES (%s, %s, now())", f"proj_{name[6:]}", name)
    with backend.add_key("editor", project=name) as client:
        yield client


def nothing_fits(payload: dict[str, Any]) -> dict[str, Any]:
    rendered = agree_render(payload)
    return rendered | {"longest": rendered["longest"] | {"tokens": 1000}, "context_length": 64}


def test_a_refused_job_leaves_nothing_behind(backend: Backend, other: httpx.Client) -> None:
    """Without a worker, and after its files were stored."""
    assert start(backend, client=other).json()["error"]["code"] == "no_worker"
    with backend.rpc_worker(render=nothing_fits):
        refusal = start(backend, client=other)
        assert (refusal.status_code, refusal.json()["error"]["type"]) == (422, "invalid_request_error")
    for path in ("/datasets", "/rewards", "/jobs"):
        assert other.get(path).json()["data"] == [], path


def test_a_project_sees_its_own_job_only(backend: Backend, other: httpx.Client) -> None:
    with backend.rpc_worker():
        ours = start(backend).json()
        theirs = start(backend, client=other)
    assert (theirs.status_code, theirs.json()["id"] != ours["id"]) == (201, True)
    assert theirs.json()["dataset"] != ours["dataset"]
    assert other.get(f"/examples/{EXAMPLE}").json()["job"] == theirs.json()["id"]


def test_unknown_names_and_missing_rights_are_refused(backend: Backend) -> None:
    for answer in (start(backend, "multiple-choise"), backend.api.get("/examples/multiple-choise")):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (404, "example_not_found", "example")
        assert "multiple-choice" in error["hint"]
    with backend.add_key("viewer") as viewer:
        assert viewer.get("/examples").status_code == 200
        assert start(backend, client=viewer).status_code == 403
