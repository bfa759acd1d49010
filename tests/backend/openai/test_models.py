"""`/v1/models`, and permissions of checkpoints."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.backend.openai import schemas
from tests.backend.openai.requests import body, created
from tests.backend.openai.test_files import refused
from tests.backend.openai.test_jobs import finish, running
from tests.backend.server import Backend


@pytest.fixture
def tuned(wire: httpx.Client, rpc_backend: Backend) -> str:
    """The name of a finished job's adapter."""
    job, trainer = running(rpc_backend, wire)
    finish(trainer)
    name: str = wire.get(f"/fine_tuning/jobs/{job}").json()["fine_tuned_model"]
    return name


def names(wire: httpx.Client) -> list[str]:
    return [model["id"] for model in schemas.listed(wire.get("/models").json(), schemas.MODEL)]


def test_all_that_model_may_be_is_listed_and_resolved(wire: httpx.Client, tuned: str) -> None:
    listed = names(wire)
    expected = ["tiny", tuned, f"{tuned}:ckpt-step-1", f"{tuned}:ckpt-step-2"]
    assert set(expected) <= set(listed)
    for name in expected:
        for spelled in (name, quote(name, safe="")):
            model = schemas.checked(wire.get(f"/models/{spelled}").json(), schemas.MODEL)
            assert model["id"] == name
    assert wire.get("/models/tiny").json()["owned_by"] == "system"
    refused(wire.get("/models/org/none"), 404, "model_not_found", "model")


def test_deployments_are_models_until_they_are_stopped(wire: httpx.Client, rpc_backend: Backend) -> None:
    rpc_backend.add_model()
    made = rpc_backend.api.post("/deployments", json={"name": "sums-try", "model": "tiny"})
    assert made.status_code == 201, made.text
    assert "sums-try" in names(wire)
    model = schemas.checked(wire.get("/models/sums-try").json(), schemas.MODEL)
    assert (model["id"], model["owned_by"]) == ("sums-try", "default")
    with rpc_backend.add_key("editor") as editor:
        assert editor.delete(f"{rpc_backend.url}/v1/models/sums-try").status_code == 403
    refused(wire.delete("/models/sums-try"), 409, "deployment_not_stopped", None)
    assert rpc_backend.api.post("/deployments/sums-try/stop").json()["state"] == "stopped"
    assert "sums-try" not in names(wire)  # it takes no requests
    assert wire.get("/models/sums-try").status_code == 200
    gone = schemas.checked(wire.delete("/models/sums-try").json(), schemas.DELETED)
    assert gone["id"] == "sums-try"
    refused(wire.get("/models/sums-try"), 404, "model_not_found", "model")


def test_a_checkpoint_of_a_running_job_is_a_model_already(wire: httpx.Client, rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend, wire)
    trainer.step(1)
    trainer.checkpoint(1)
    job_models = [name for name in names(wire) if job[6:14] in name]
    assert [name.rsplit(":", 1)[1] for name in job_models] == ["ckpt-step-1"]


def test_a_deleted_model_is_gone_and_its_job_stays(
    wire: httpx.Client, rpc_backend: Backend, tuned: str
) -> None:
    gone = schemas.checked(wire.delete(f"/models/{tuned}").json(), schemas.DELETED)
    assert gone == {"id": tuned, "object": "model", "deleted": True}
    assert tuned not in names(wire)
    for answer in (wire.get(f"/models/{tuned}"), wire.delete(f"/models/{tuned}")):
        refused(answer, 404, "model_not_found", "model")
    job = next(
        item for item in wire.get("/fine_tuning/jobs").json()["data"] if item["fine_tuned_model"] == tuned
    )
    assert job["status"] == "succeeded"
    assert wire.get(f"/models/{tuned}:ckpt-step-1").status_code == 200


def test_what_else_cannot_be_deleted(wire: httpx.Client, rpc_backend: Backend, tuned: str) -> None:
    refused(wire.delete("/models/tiny"), 403, "model_not_deletable", "model")
    refused(wire.delete(f"/models/{tuned}:ckpt-step-1"), 400, "model_not_deletable", "model")
    with rpc_backend.add_key("member") as member:
        key = {"authorization": member.headers["authorization"]}
    refused(wire.delete(f"/models/{tuned}", headers=key), 403, "not_owner", None)


@pytest.mark.parametrize("step", [None, 1])
def test_a_job_trains_a_tuned_model_further(
    wire: httpx.Client, rpc_backend: Backend, tuned: str, step: int | None
) -> None:
    name = tuned if step is None else f"{tuned}:ckpt-step-{step}"
    answer = wire.post("/fine_tuning/jobs", json=body(rpc_backend, model=name))
    assert answer.status_code == 200, answer.text
    view = schemas.checked(answer.json(), schemas.JOB)
    assert view["model"] == name
    job = rpc_backend.job(view["id"])
    assert (job["model"], job["started_from"]["step"]) == ("tiny", step or 2)
    claimed = rpc_backend.claim(view["id"]).claimed
    query = "SELECT sha256 FROM checkpoint WHERE job_id = %s AND step = %s"
    assert claimed["start"]["sha256"] == rpc_backend.sql(query, job["started_from"]["job"], step or 2)[0][0]


def test_ids_of_adapters_name_what_a_job_starts_from(
    wire: httpx.Client, rpc_backend: Backend, tuned: str
) -> None:
    adapter = rpc_backend.api.get("/adapters").json()["data"][0]
    view = wire.post("/fine_tuning/jobs", json=body(rpc_backend, model=adapter["id"])).json()
    assert view["model"] == adapter["id"]
    assert rpc_backend.job(view["id"])["started_from"]["id"] == adapter["id"]
    refused(
        wire.post("/fine_tuning/jobs", json=body(rpc_backend, model="adp_none")),
        400,
        "adapter_not_found",
        "model",
    )


def other_project(backend: Backend, name: str) -> tuple[str, httpx.Client]:
    """A project with an owner's key, as a client of `/v1`."""
    id = f"proj_{name}"
    backend.sql("INSERT INTO project (id, name, created_at) VALUES (%s, %s, now())", id, name)
    with backend.add_key("owner", project=name) as key:
        secret = key.headers["authorization"].removeprefix("Bearer ")
    return id, backend.client(secret, "/v1")


def test_owners_share_a_checkpoint_with_another_project(
    wire: httpx.Client, rpc_backend: Backend, tuned: str
) -> None:
    id, other = other_project(rpc_backend, f"guest-{tuned[-8:]}")
    checkpoint = f"{tuned}:ckpt-step-1"
    where = f"/fine_tuning/checkpoints/{checkpoint}/permissions"
    with other:
        assert other.get(f"/models/{checkpoint}").status_code == 404
        (made,) = schemas.listed(wire.post(where, json={"project_ids": [id, id]}).json(), schemas.PERMISSION)
        assert made["project_id"] == id
        assert other.get(f"/models/{checkpoint}").json()["id"] == checkpoint
        assert checkpoint in names(other)
        assert other.get(f"/models/{tuned}").status_code == 404
        refused(other.get(where), 404, "model_not_found", "model")  # to use is not to share on
        again = wire.post(where, json={"project_ids": [id]}).json()["data"]
        assert again == [made]
        assert schemas.listed(wire.get(where).json(), schemas.PERMISSION) == [made]
        assert wire.get(where, params={"project_id": "proj_none"}).json()["data"] == []
        gone = schemas.checked(wire.delete(f"{where}/{made['id']}").json(), schemas.DELETED)
        assert gone["object"] == "checkpoint.permission"
        assert other.get(f"/models/{checkpoint}").status_code == 404
    refused(wire.delete(f"{where}/{made['id']}"), 404, "permission_not_found", "permission_id")


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_permissions_are_paged(wire: httpx.Client, rpc_backend: Backend, tuned: str, order: str) -> None:
    where = f"/fine_tuning/checkpoints/{tuned}:ckpt-step-2/permissions"
    ids = []
    for number in range(3):
        id, client = other_project(rpc_backend, f"{order}-{number}")
        client.close()
        wire.post(where, json={"project_ids": [id]})
        ids.append(id)
    permissions: list[Any] = []
    while True:
        query = {"limit": 2, "order": order} | ({"after": permissions[-1]["id"]} if permissions else {})
        page = wire.get(where, params=query).json()
        permissions += page["data"]
        if not page["has_more"]:
            break
    expected = ids if order == "ascending" else ids[::-1]
    assert [permission["project_id"] for permission in permissions] == expected


def test_permissions_that_cannot_be_granted(wire: httpx.Client, rpc_backend: Backend, tuned: str) -> None:
    where = f"/fine_tuning/checkpoints/{tuned}:ckpt-step-1/permissions"
    unknown = wire.post(where, json={"project_ids": ["proj_none"]})
    refused(unknown, 400, "project_not_found", "project_ids[0]")
    base = wire.post("/fine_tuning/checkpoints/tiny/permissions", json={"project_ids": ["p"]})
    refused(base, 404, "model_not_found", "model")
    with rpc_backend.add_key("member") as member:
        key = {"authorization": member.headers["authorization"]}
    refused(wire.post(where, json={"project_ids": ["p"]}, headers=key), 403, "not_owner", None)
    assert created(wire, body(rpc_backend))["id"]
