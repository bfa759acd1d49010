"""Requests about something whose deletion is not committed yet: they wait for it, and are then refused cleanly."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import psycopg
import pytest

from tests.backend.jobs.lifecycle.test_deletion import ended
from tests.backend.server import OWNER_KEY, REWARD, Backend, wait_until

Ask = Callable[[httpx.Client], httpx.Response]


def during(
    backend: Backend, statements: Sequence[tuple[str, str]], ask: Ask, project: str | None = None
) -> httpx.Response:
    """The answer to a request that is sent while another transaction has deleted, and commits once it is waited for."""
    answers: list[httpx.Response] = []

    def work() -> None:
        with backend.client(OWNER_KEY, "/api/v1") as api:
            if project is not None:
                api.headers["x-reinforge-project"] = project
            answers.append(ask(api))

    with psycopg.connect(backend.database_url) as connection:
        for statement, value in statements:
            connection.execute(statement.encode(), (value,))
        pid = connection.info.backend_pid
        thread = threading.Thread(target=work)
        thread.start()
        waits = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
        wait_until(lambda: answers or backend.sql(waits, pid), "the request to wait for the deletion")
        connection.commit()
    thread.join(30)
    assert answers, "no answer"
    return answers[0]


def refused_cleanly(response: httpx.Response) -> None:
    error = response.json()["error"]
    outcome = (response.status_code, error["code"])
    assert outcome == (409, "deleted_meanwhile") or (
        outcome[0] == 404 and outcome[1].endswith("_not_found")
    ), outcome
    assert outcome[0] == 404 or error["hint"]


def deletion_of_job(job: str) -> list[tuple[str, str]]:
    """As `backend.jobs.lifecycle.deletion` does it, up to the commit."""
    return [("DELETE FROM adapter WHERE job_id = %s", job), ("DELETE FROM job WHERE id = %s", job)]


def checkpoint_of(backend: Backend, job: str) -> str:
    return str(backend.sql("SELECT id FROM checkpoint WHERE job_id = %s LIMIT 1", job)[0][0])


def of_a_job(backend: Backend) -> dict[str, Callable[[str], Ask]]:
    """What can be made of a job: name → job → request."""
    adapter = lambda job: backend.job(job)["adapter"]  # noqa: E731
    return {
        "a fork": lambda job: lambda api: api.post(f"/jobs/{job}/fork", json={"step": 4}),
        "a deployment of its adapter": lambda job: (
            lambda name: lambda api: api.post("/deployments", json={"name": "race-a", "adapter": name})
        )(adapter(job)),
        "a deployment of a checkpoint": lambda job: (
            lambda name: lambda api: api.post("/deployments", json={"name": "race-c", "checkpoint": name})
        )(checkpoint_of(backend, job)),
        "a label": lambda job: (
            lambda api: api.post(
                f"/jobs/{job}/labels",
                json={
                    "labels": [{"step": 1, "split": "train", "prompt_no": 0, "sample_no": 0, "right": True}]
                },
            )
        ),
        "its deletion": lambda job: lambda api: api.delete(f"/jobs/{job}"),
    }


@pytest.mark.parametrize(
    "name",
    ["a fork", "a deployment of its adapter", "a deployment of a checkpoint", "a label", "its deletion"],
)
def test_what_is_made_of_a_job_that_is_being_deleted_is_refused(rpc_backend: Backend, name: str) -> None:
    job = ended(rpc_backend)
    ask = of_a_job(rpc_backend)[name](job)
    response = during(rpc_backend, deletion_of_job(job), ask)
    if name == "a label" and response.status_code == 422:
        return  # it looks first whether the completion is stored
    refused_cleanly(response)


def in_a_project(backend: Backend) -> dict[str, Ask]:
    """Everything that is made in a project and names nothing else."""
    rows = ("rows.jsonl", b'{"prompt": "1", "answer": "1"}\n')
    return {
        "dataset": lambda api: api.post("/datasets", files={"file": rows}),
        "upload": lambda api: api.post("/uploads", json={"filename": "a.jsonl", "bytes": 100}),
        "reward": lambda api: api.post("/rewards", json={"name": "race", "source": REWARD}),
        "key": lambda api: api.post("/keys", json={"name": "race", "role": "viewer"}),
        "invitation": lambda api: api.post("/invitations", json={"role": "viewer"}),
        "judge": lambda api: api.post(
            "/judges", json={"name": "race", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
        ),
        "webhook": lambda api: api.post("/webhooks", json={"url": "http://127.0.0.1:9/hook"}),
        "budget": lambda api: api.put(
            "/budgets", json={"kind": "judge_spend", "period": "month", "amount": 5}
        ),
        "deployment": lambda api: api.post("/deployments", json={"name": "r", "model": backend.add_model()}),
        "name": lambda api: api.patch("/projects/proj_race", json={"name": "new"}, headers={"if-match": "*"}),
        "deletion": lambda api: api.request("DELETE", "/projects/proj_race", json={"name": "race"}),
    }


KINDS = ["dataset", "upload", "reward", "key", "invitation", "judge", "webhook", "budget", "deployment", "name",
         "deletion"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_in_a_project_that_is_being_deleted_is_refused(rpc_backend: Backend, kind: str) -> None:
    rpc_backend.sql(
        "INSERT INTO project (id, name, created_at) VALUES ('proj_race', 'race', now()) ON CONFLICT DO NOTHING"
    )
    delete = [("DELETE FROM project WHERE id = %s", "proj_race")]
    response = during(rpc_backend, delete, in_a_project(rpc_backend)[kind], project="proj_race")
    refused_cleanly(response)
    assert rpc_backend.sql("SELECT 1 FROM project WHERE id = 'proj_race'") == []


def test_a_case_of_a_reward_that_is_being_deleted_is_refused(rpc_backend: Backend) -> None:
    reward = rpc_backend.api.post("/rewards", json={"name": "to go", "source": REWARD}).json()["id"]
    case: dict[str, Any] = {"completion": "1", "item": {}, "expected": 1.0, "prompt": "1"}

    def ask(api: httpx.Client) -> httpx.Response:
        return api.post(f"/rewards/{reward}/golden", json=case)

    delete = [("DELETE FROM reward WHERE id = %s", reward)]
    response = during(rpc_backend, delete, ask)
    assert response.status_code < 500, response.text


def test_other_faults_of_the_database_are_no_conflict(
    rpc_backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a reference that goes nowhere is one: another constraint would be a bug of ours."""
    taken = rpc_backend.api.post("/rewards", json={"name": "mine", "source": REWARD}).json()["id"]
    monkeypatch.setattr("backend.rewards.service.new_id", lambda _: taken)
    response = rpc_backend.api.post("/rewards", json={"name": "another", "source": REWARD})
    assert response.status_code == 500
