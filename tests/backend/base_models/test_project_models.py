"""Base models belong to projects; what an administrator has shared belongs to all."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.backend.base_models.test_shared_models import add, conflict, job_of, stored_model
from tests.backend.server import Backend, refused
from tests.support.hub_stub import COMMIT, HubStub, Repository
from tests.support.small_models import model_files

TOKEN = "hf_of_one_project"
GATED = f"hub:org/gated@{COMMIT}"


@pytest.fixture
def ours(backend: Backend) -> Iterator[httpx.Client]:
    """An editor of the first project, who does not run the platform."""
    with backend.add_key("editor") as client:
        yield client


@pytest.fixture
def theirs(backend: Backend) -> Iterator[httpx.Client]:
    backend.sql(
        "INSERT INTO project (id, name, created_at) VALUES ('proj_other', 'other', now()) ON CONFLICT DO NOTHING"
    )
    with backend.add_key("owner", project="other") as client:
        yield client


@pytest.fixture(autouse=True)
def repositories(hub: HubStub) -> None:
    hub.repositories["org/name"] = Repository(model_files())
    hub.repositories["org/large"] = Repository(model_files(rows=9))
    hub.repositories["org/gated"] = Repository(model_files(), token=TOKEN, gated=True)


def requests(client: httpx.Client, id: str) -> list[httpx.Response]:
    """Everything that may name a model."""
    base = str(client.base_url).removesuffix("/api/v1/")
    question = [{"role": "user", "content": "1+1="}]
    rows = {"file": ("sums.jsonl", b'{"prompt": "1+1=", "answer": "2"}\n')}
    dataset = client.post("/datasets", files=rows).json()["id"]
    reward = {"name": "right", "source": "def grade(sample, item):\n    return 1.0\n"}
    spec = {"model": id, "data": {"dataset": dataset}, "rewards": [reward]}
    return [
        client.get(f"/models/{id}"),
        client.delete(f"/models/{id}"),
        client.post(f"/models/{id}/share"),
        client.post("/jobs", json=spec),
        client.post("/preflights", json=spec),
        client.post("/deployments", json={"name": "deployed", "model": id}),
        client.post(f"/datasets/{dataset}/render", json={"model": id}),
        client.post("/sample", json={"model": id, "prompts": [question]}),
        client.post(
            "/evaluations",
            json={"kind": "stand_alone", "model": id, "dataset": dataset, "source": reward["source"]},
        ),
        client.get(f"{base}/v1/models/{id}"),
        client.post(f"{base}/v1/chat/completions", json={"model": id, "messages": question}),
    ]


def without_request(response: httpx.Response) -> str:
    return re.sub(r"req_\w+", "", response.text)


def test_another_projects_model_is_like_one_that_is_not_there(
    live_backend: Backend, ours: httpx.Client, theirs: httpx.Client
) -> None:
    assert add(ours, "private", "hub:org/name").json()["shared"] is False
    before = stored_model(live_backend, "private")
    for model, nothing in zip(requests(theirs, "private"), requests(theirs, "unknown"), strict=True):
        assert model.status_code in (404, 422), model.text
        expected = without_request(nothing).replace("unknown", "private")
        assert (model.status_code, without_request(model)) == (nothing.status_code, expected), model.url
    base = live_backend.url
    for response in (theirs.get("/models"), theirs.get(f"{base}/v1/models"), theirs.get("/models/privat")):
        assert "private" not in response.text
    # A name that is nearly that one is not completed.
    chat = {"model": "privat", "messages": [{"role": "user", "content": "1"}]}
    assert "private" not in theirs.post(f"{base}/v1/chat/completions", json=chat).text
    assert stored_model(live_backend, "private") == before
    counted = [client.get("/project/counts").json()["models"] for client in (ours, theirs)]
    counts = [len(client.get("/models", params={"limit": 100}).json()["data"]) for client in (ours, theirs)]
    assert counted == counts and counts[0] > 0


def test_projects_may_give_the_same_name(
    live_backend: Backend, ours: httpx.Client, theirs: httpx.Client
) -> None:
    added = [add(ours, "same", "hub:org/name").json(), add(theirs, "same", "hub:org/large").json()]
    for client, made in zip((ours, theirs), added, strict=True):
        assert client.get("/models/same").json() == made
        claimed = live_backend.claim(job_of(client, live_backend, "same")).claimed
        assert (claimed["model_source"], claimed["model_sha256"]) == (made["source"], made["sha256"])
    assert added[0]["sha256"] != added[1]["sha256"]
    conflict(add(ours, "same", "hub:org/large"), "model_exists")
    # Neither can then be everybody's.
    assert conflict(live_backend.api.post("/models/same/share"), "name_taken")["hint"]


def test_an_administrator_shares_a_model_with_all(
    live_backend: Backend, ours: httpx.Client, theirs: httpx.Client
) -> None:
    made = add(ours, "given", "hub:org/name").json()
    base = live_backend.url
    owner = next(model for model in ours.get(f"{base}/v1/models").json()["data"] if model["id"] == "given")
    assert owner["owned_by"] == "default"
    with live_backend.add_key("owner") as not_administrator:
        answer = not_administrator.post("/models/given/share")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_administrator")
    shared = live_backend.api.post("/models/given/share")
    assert (shared.status_code, shared.json()) == (200, made | {"shared": True})
    assert live_backend.api.post("/models/given/share").status_code == 200, "twice is no harm"
    assert theirs.get("/models/given").json() == made | {"shared": True}
    assert theirs.get(f"{base}/v1/models/given").json()["owned_by"] == "system"
    job = job_of(theirs, live_backend, "given")
    for client in (ours, theirs):
        answer = client.delete("/models/given")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_administrator")
        conflict(add(client, "given", "hub:org/name"), "model_exists")
    error = conflict(live_backend.api.delete("/models/given"), "model_in_use")
    assert job not in str(error)
    assert live_backend.api.post("/models", json={"id": "given", "source": "hub:org/name"}).status_code == 201


def test_names_of_shared_models_and_deployments_are_not_taken_over(
    live_backend: Backend, ours: httpx.Client, theirs: httpx.Client
) -> None:
    live_backend.sql("DELETE FROM base_model WHERE id = 'starter-arith'")  # before a worker has described it
    for client in (ours, live_backend.api):
        conflict(add(client, "starter-arith", "hub:org/name"), "model_exists")
    assert add(ours, "served", "hub:org/name").status_code == 201
    assert add(theirs, "below", "hub:org/name").status_code == 201
    assert theirs.post("/deployments", json={"name": "served", "model": "below"}).status_code == 201
    conflict(live_backend.api.post("/models/served/share"), "name_taken")


def test_what_needs_a_model_is_named_to_its_own_project(live_backend: Backend, ours: httpx.Client) -> None:
    add(ours, "needed", "hub:org/name")
    job = job_of(ours, live_backend, "needed")
    assert job in conflict(ours.delete("/models/needed"), "model_in_use")["message"]
    assert add(ours, "free-to-go", "hub:org/name").status_code == 201
    assert ours.delete("/models/free-to-go").status_code == 204
    assert ours.get("/models/free-to-go").status_code == 404


def tokens_sent(backend: Backend, client: httpx.Client, model: str) -> list[Any]:
    """The hub's token as a job's worker and a call's get it."""
    claimed = backend.claim(job_of(client, backend, model)).claimed
    rows = {"file": ("sums.jsonl", b'{"prompt": "1+1=", "answer": "2"}\n')}
    dataset = client.post("/datasets", files=rows).json()["id"]
    with backend.rpc_worker() as rpc_worker:
        assert client.post(f"/datasets/{dataset}/render", json={"model": model}).status_code == 200
        [payload] = [payload for kind, payload in rpc_worker.calls if kind == "render"]
    assert "model_key" not in payload
    return [claimed["hub_token"], payload.get("hub_token")]


def test_a_token_is_used_for_its_own_project(
    live_backend: Backend, ours: httpx.Client, theirs: httpx.Client
) -> None:
    """What it has opened lies on the worker, and opens for nobody else."""
    assert add(ours, "gated", "hub:org/gated", token=TOKEN).json()["has_token"] is True
    for source in (GATED, "hub:org/gated"):
        refused(add(theirs, "gated", source), "source", "model_gated")
    assert tokens_sent(live_backend, ours, "gated") == [TOKEN, TOKEN]
    # The same files, which their worker may read without a token: ours is not lent.
    theirs.post("/models", json={"id": "gated", "source": "hub:org/name"})
    live_backend.sql(
        "UPDATE base_model SET source = %s WHERE project_id = 'proj_other' AND id = 'gated'", GATED
    )
    assert tokens_sent(live_backend, theirs, "gated") == [None, None]
    assert theirs.delete("/models/gated").status_code == 409


def test_a_shared_models_token_goes_with_it(
    live_backend: Backend, ours: httpx.Client, theirs: httpx.Client
) -> None:
    assert add(ours, "lent", "hub:org/gated", token=TOKEN).status_code == 201
    assert live_backend.api.post("/models/lent/share").status_code == 200
    assert tokens_sent(live_backend, theirs, "lent") == [TOKEN, TOKEN]


def test_a_project_takes_its_models_with_it(live_backend: Backend, theirs: httpx.Client) -> None:
    live_backend.sql("INSERT INTO project (id, name, created_at) VALUES ('proj_gone', 'gone', now())")
    with live_backend.add_key("owner", project="gone") as client:
        for id in ("leaves", "stays"):
            assert add(client, id, "hub:org/name").status_code == 201
        job_of(client, live_backend, "leaves")
        client.post("/deployments", json={"name": "gone", "model": "leaves"})
    gone = {"x-reinforge-project": "proj_gone"}
    assert live_backend.api.post("/models/stays/share", headers=gone).status_code == 200
    answer = live_backend.api.request("DELETE", "/projects/proj_gone", json={"name": "gone"})
    assert answer.status_code < 300, answer.text
    assert live_backend.sql("SELECT id FROM base_model WHERE id IN ('leaves', 'stays')") == [("stays",)]
    assert theirs.get("/models/stays").status_code == 200
