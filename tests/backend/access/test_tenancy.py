"""One project never sees another's things. Made from the OpenAPI document: a new endpoint without cover fails here."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.backend.server import Backend
from tests.backend.tenancy import MARK, Operation, Stranger, operations

NEEDS_MORE = {
    "runGoldenCases", "getCalibration",
}  # fmt: skip
"""Reads that the owner gets no answer to without a sandbox, or before more is there."""


@pytest.fixture(scope="module")
def stranger(rpc_backend: Backend) -> Iterator[Stranger]:
    # A first job of our own, so that lists have something to show.
    rpc_backend.create_job()
    other = Stranger(rpc_backend)
    yield other
    other.api.close()
    other.us.close()


def with_ids(backend: Backend) -> list[Operation]:
    """`{example}` is the product's, the same in every project."""
    paths = [operation for operation in operations(backend) if "{" in operation.path]
    return [operation for operation in paths if "{example}" not in operation.path]


def test_every_endpoint_with_an_id_is_covered(stranger: Stranger) -> None:
    """A kind of thing that is missing has to be made in `tenancy.Stranger`."""
    missing = []
    for operation in with_ids(stranger.backend):
        try:
            stranger.url(operation)
        except KeyError as error:
            missing.append(f"{operation.method.upper()} {operation.path} needs one of {error}")
    assert missing == []
    assert len(with_ids(stranger.backend)) > 40


def test_another_projects_id_is_404(stranger: Stranger) -> None:
    failures = {}
    for operation in with_ids(stranger.backend):
        answer = stranger.ask(operation, stranger.us)
        if answer.status_code != 404:
            failures[f"{operation.method.upper()} {operation.path} ({operation.id})"] = (
                answer.status_code,
                answer.text[:300],
            )
    assert list(failures.items()) == []


def test_the_same_reads_answer_their_own_project(stranger: Stranger) -> None:
    """Else the test above would hold for ids that nobody has."""
    failed = {}
    for operation in with_ids(stranger.backend):
        if operation.method != "get" or operation.id in NEEDS_MORE or operation.path.endswith("/stream"):
            continue
        answer = stranger.ask(operation, stranger.api)
        if answer.status_code != 200:
            failed[f"{operation.path} ({operation.id})"] = (answer.status_code, answer.text[:300])
    assert failed == {}


def test_no_list_shows_another_projects_things(stranger: Stranger) -> None:
    hidden = [*stranger.things.values(), stranger.checkpoint, stranger.running, stranger.project, MARK]
    leaks, lists = {}, 0
    for operation in operations(stranger.backend):
        if operation.method != "get" or "{" in operation.path:
            continue
        answer = stranger.ask(operation, stranger.us)
        leaked = [thing for thing in hidden if thing in answer.text]
        if leaked or answer.status_code not in (200, 422):
            leaks[f"{operation.path} ({operation.id})"] = (answer.status_code, leaked)
        if MARK in stranger.ask(operation, stranger.api).text:
            lists += 1
    assert leaks == {}
    assert lists >= 8, "the stranger's own lists show what is there"


def test_a_running_jobs_worker_is_listed_without_the_job_of_another_project(stranger: Stranger) -> None:
    assert stranger.running in stranger.api.get("/workers").text
    assert stranger.running not in stranger.us.get("/workers").text


def named(stranger: Stranger, **changes: Any) -> dict[str, Any]:
    return stranger.backend.spec(**changes)


def test_things_of_another_project_cannot_be_named_in_a_request(stranger: Stranger) -> None:
    api, things = stranger.us, stranger.things
    answers = {
        "dataset": api.post("/jobs", json=named(stranger, data={"dataset": things["datasets"]})),
        "held out": api.post(
            "/jobs",
            json=named(
                stranger,
                data={"dataset": stranger.backend.add_dataset(), "held_out_dataset": things["datasets"]},
            ),
        ),
        "reward": api.post(
            "/jobs",
            json=named(stranger, rewards=[{"type": "python", "name": "right", "reward": things["rewards"]}]),
        ),
        "pre-flight": api.post("/preflights", json=named(stranger, data={"dataset": things["datasets"]})),
        "model": api.post("/jobs", json=named(stranger, model=things["base models"])),
        "deployment": api.post("/deployments", json={"name": "ours", "model": things["base models"]}),
        "sample of a model": api.post(
            "/sample",
            json={"model": things["base models"], "prompts": [[{"role": "user", "content": "1"}]]},
        ),
        "replay": api.post("/evaluations", json={"job": things["jobs"]}),
        "sample": api.post(
            "/sample",
            json={
                "model": "tiny",
                "checkpoint": stranger.checkpoint,
                "prompts": [[{"role": "user", "content": "1"}]],
            },
        ),
    }
    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code < 400} == {}
    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code >= 500} == {}
    checked = api.post("/jobs/check", json=named(stranger, data={"dataset": things["datasets"]})).json()
    assert "data.dataset" in [problem["param"] for problem in checked["problems"]]
    sweep = {"job": named(stranger, data={"dataset": things["datasets"]}), "seeds": 2}
    assert api.post("/sweeps/check", json=sweep).json()["problems"][0]["param"] == "job.data.dataset"


def test_filters_by_another_projects_things_find_nothing(stranger: Stranger) -> None:
    api, things = stranger.us, stranger.things
    for query in ({"dataset": things["datasets"]}, {"reward": things["rewards"]}, {"q": MARK}):
        assert api.get("/jobs", params=query).json()["data"] == []
    assert api.get("/evaluations", params={"job": things["jobs"]}).json().get("data", []) == []
