"""Models used by several people: what a repeated inspection may change."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.backend.server import Backend, refused, wait_until
from tests.support.hub_stub import COMMIT, HubStub, Repository
from tests.support.small_models import model_files

TOKEN = "hf_only_for_those_who_may"
LATER = "f" * 40


@pytest.fixture
def stranger(backend: Backend) -> Iterator[httpx.Client]:
    """An editor of another project."""
    backend.sql(
        "INSERT INTO project (id, name, created_at) VALUES ('proj_other', 'other', now()) ON CONFLICT DO NOTHING"
    )
    with backend.add_key("editor", project="other") as client:
        yield client


@pytest.fixture
def colleague(backend: Backend) -> Iterator[httpx.Client]:
    """Another editor of the project."""
    with backend.add_key("editor") as client:
        yield client


def stored_model(backend: Backend, id: str) -> tuple[Any, ...]:
    """What jobs and deployments rely on."""
    query = "SELECT source, sha256, status, token_sealed FROM base_model WHERE id = %s ORDER BY created_at"
    return backend.sql(query, id)[0]


def add(client: httpx.Client, id: str, source: str, **more: Any) -> httpx.Response:
    return client.post("/models", json={"id": id, "source": source} | more)


def job_of(client: httpx.Client, backend: Backend, model: str) -> str:
    """A queued job of the client's project."""
    rows = b"".join(b'{"prompt": "%d+1=", "answer": "%d"}\n' % (n, n + 1) for n in range(9))
    with backend.rpc_worker():
        dataset = client.post("/datasets", files={"file": ("sums.jsonl", rows)}).json()["id"]
        spec = backend.spec(model=model) | {"data": {"dataset": dataset}}
        response = client.post("/jobs", json=spec)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def conflict(response: httpx.Response, code: str) -> dict[str, Any]:
    assert response.status_code == 409, response.text
    error: dict[str, Any] = response.json()["error"]
    assert error["code"] == code and error["hint"]
    return error


@pytest.mark.parametrize(
    ("id", "change"),
    [
        ("shared", {"source": "hub:org/name@main"}),
        ("wordless", {"source": "hub:org/name", "chat_template": "plain"}),
    ],
)
def test_a_model_that_another_project_uses_stays_as_it_is(
    live_backend: Backend, hub: HubStub, stranger: httpx.Client, id: str, change: dict[str, Any]
) -> None:
    hub.repositories["org/name"] = Repository(model_files(template="chat_template" not in change))
    template = {"chat_template": "bare"} if "chat_template" in change else {}
    assert add(live_backend.api, id, "hub:org/name", **template).status_code == 201
    assert live_backend.api.post(f"/models/{id}/share").json()["shared"] is True
    job = job_of(stranger, live_backend, id)
    before = stored_model(live_backend, id)
    hub.repositories["org/name"].files |= model_files(rows=9, template=not template)
    hub.repositories["org/name"].commit = LATER
    error = conflict(live_backend.api.post("/models", json={"id": id} | change), "model_in_use")
    assert job not in str(error) and "another id" in error["hint"]
    assert stored_model(live_backend, id) == before
    view = live_backend.api.get(f"/models/{id}").json()
    assert (view["status"], view["failure"]["code"]) == ("ready", "model_in_use")
    claimed = live_backend.claim(job).claimed
    assert (claimed["model_source"], claimed["model_sha256"]) == before[:2]
    error = conflict(live_backend.api.delete(f"/models/{id}"), "model_in_use")
    assert job not in str(error) and "another project" in error["message"]
    # Under another id it may be had.
    assert stranger.post("/models", json=change | {"id": f"{id}-too"}).status_code == 201


def test_the_same_files_under_another_commit_are_the_same_model(
    live_backend: Backend, hub: HubStub, colleague: httpx.Client
) -> None:
    hub.repositories["org/card"] = Repository(model_files())
    before = add(live_backend.api, "card", "hub:org/card").json()
    with live_backend.rpc_worker():
        live_backend.create_job(model="card")
    hub.repositories["org/card"].commit = LATER
    after = add(colleague, "card", "hub:org/card@main").json()
    assert (before["revision"], after["revision"]) == (COMMIT, LATER)
    assert before["sha256"] == after["sha256"]


def test_what_nobody_uses_may_become_something_else(live_backend: Backend, hub: HubStub) -> None:
    hub.repositories["org/free"] = Repository(model_files())
    before = add(live_backend.api, "free", "hub:org/free").json()
    hub.repositories["org/free"].files |= model_files(rows=9)
    hub.repositories["org/free"].commit = LATER
    after = add(live_backend.api, "free", "hub:org/free@main").json()
    assert after["sha256"] != before["sha256"]


@pytest.mark.parametrize(
    ("id", "other"), [("gated", "colleague"), ("copy", "colleague"), ("gated", "stranger")]
)
def test_a_wrong_token_replaces_no_good_one(
    live_backend: Backend, hub: HubStub, request: pytest.FixtureRequest, id: str, other: str
) -> None:
    """Neither that of the model itself nor, under another id or in another project, that of the same files."""
    client: httpx.Client = request.getfixturevalue(other)
    hub.repositories["org/gated"] = Repository(model_files(), token=TOKEN, gated=True)
    source = add(live_backend.api, "gated", "hub:org/gated", token=TOKEN).json()["source"]
    with live_backend.rpc_worker():
        job = live_backend.create_job(model="gated")
    before = stored_model(live_backend, "gated")
    # The files lie on the worker already, so that nothing is downloaded with this token.
    refused(add(client, id, source, token="hf_wrong"), "source", "model_gated")
    client.post("/models", json={"id": id, "source": source, "token": "hf_wrong"}, params={"wait": "false"})
    wait_until(lambda: client.get(f"/models/{id}").json()["failure"], "the refusal")
    assert stored_model(live_backend, "gated") == before
    assert live_backend.claim(job).claimed["hub_token"] == TOKEN
    # A good one does.
    hub.repositories["org/gated"].token = "hf_renewed"
    assert add(live_backend.api, "gated", "hub:org/gated", token="hf_renewed").status_code == 201
    assert stored_model(live_backend, "gated")[3] != before[3]


def test_what_failed_is_tried_again_with_its_token(live_backend: Backend, hub: HubStub) -> None:
    hub.repositories["org/later"] = Repository(model_files(), token=TOKEN)
    hub.away = True
    body = {"id": "later", "source": "hub:org/later"}
    live_backend.api.post("/models", json=body | {"token": TOKEN}, params={"wait": "false"})
    wait_until(lambda: live_backend.api.get("/models/later").json()["status"] == "failed", "the refusal")
    hub.away = False
    made = live_backend.api.post("/models", json=body)
    assert (made.status_code, made.json()["status"], made.json()["has_token"]) == (201, "ready", True)


def test_a_token_that_only_failed_opens_nothing_else(live_backend: Backend, hub: HubStub) -> None:
    hub.repositories["org/open"] = Repository(model_files())
    source = add(live_backend.api, "open", "hub:org/open").json()["source"]
    with live_backend.rpc_worker():
        job = live_backend.create_job(model="open")
    hub.away = True
    body = {"id": "pending", "source": source, "token": "hf_unknown"}
    live_backend.api.post("/models", json=body, params={"wait": "false"})
    wait_until(lambda: live_backend.api.get("/models/pending").json()["status"] == "failed", "the refusal")
    assert stored_model(live_backend, "pending")[3] is not None
    assert live_backend.claim(job).claimed["hub_token"] is None


@pytest.mark.parametrize("kind", ["hub", "folder"])
def test_a_source_may_be_sent_as_it_is_returned(
    live_backend: Backend, hub: HubStub, tmp_path: Path, kind: str
) -> None:
    """The page's "Inspect again" sends what the model's source is, with the template chosen for it."""
    files = model_files(template=False)
    hub.repositories["org/base"] = Repository(files)
    folder = tmp_path / "base"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    source = "hub:org/base" if kind == "hub" else str(folder)
    made = add(live_backend.api, f"again-{kind}", source, chat_template="plain").json()
    assert made["source"].endswith("#template=plain"), made
    for body in ({}, {"chat_template": "plain"}):
        again = add(live_backend.api, f"again-{kind}", made["source"], **body)
        assert again.status_code == 201, again.text
        assert (again.json()["source"], again.json()["sha256"]) == (made["source"], made["sha256"])
    assert add(live_backend.api, f"other-{kind}", made["source"]).json()["source"] == made["source"]


def test_a_choice_survives_a_look_that_failed(live_backend: Backend, hub: HubStub) -> None:
    hub.repositories["org/base"] = Repository(model_files(template=False))
    hub.away = True
    body = {"id": "kept", "source": "hub:org/base", "chat_template": "plain"}
    live_backend.api.post("/models", json=body, params={"wait": "false"})
    wait_until(lambda: live_backend.api.get("/models/kept").json()["status"] == "failed", "the refusal")
    hub.away = False
    source = live_backend.api.get("/models/kept").json()["source"]
    assert source == "hub:org/base#template=plain"
    assert add(live_backend.api, "kept", source).json()["source"] == f"hub:org/base@{COMMIT}#template=plain"


def test_a_deployments_name_is_taken(live_backend: Backend, hub: HubStub, colleague: httpx.Client) -> None:
    hub.repositories["org/name"] = Repository(model_files())
    assert add(live_backend.api, "below", "hub:org/name").status_code == 201
    assert live_backend.api.post("/deployments", json={"name": "sums", "model": "below"}).status_code == 201
    error = conflict(add(colleague, "sums", "hub:org/name"), "name_taken")
    assert error["param"] == "id"
    assert live_backend.api.get("/models/sums").status_code == 404
