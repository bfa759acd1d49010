"""API keys: made, used, listed and revoked by owners alone."""

from typing import Any

import httpx
import pytest

from tests.backend.people import made, refusal
from tests.backend.server import Backend


def test_a_key_is_returned_once_and_works_until_it_is_revoked(backend: Backend) -> None:
    key = made(backend.api.post("/keys", json={"name": "ci", "role": "editor"}))
    assert key["key"].startswith(key["prefix"])
    with backend.client(key["key"], "/api/v1") as client:
        assert client.get("/me").json()["role"] == "editor"
        listed = backend.api.get("/keys").json()["data"]
        assert key["id"] in [item["id"] for item in listed]
        assert all("key" not in item and "sha256" not in item for item in listed)
        assert key["key"] not in str(backend.sql("SELECT * FROM api_key"))

        assert backend.api.delete(f"/keys/{key['id']}").status_code == 204
        assert client.get("/me").status_code == 401
    assert backend.api.delete(f"/keys/{key['id']}").status_code == 404


def test_revoking_a_key_ends_the_browsers_that_signed_in_with_it(backend: Backend) -> None:
    key = backend.api.post("/keys", json={"name": "laptop", "role": "viewer"}).json()
    with httpx.Client(base_url=f"{backend.url}/api/v1") as browser:
        assert browser.post("/sign-in", json={"token": key["key"]}).status_code == 200
        assert browser.get("/me").status_code == 200
        backend.api.delete(f"/keys/{key['id']}")
        assert browser.get("/me").status_code == 401


def test_only_owners_manage_keys(backend: Backend) -> None:
    for role in ("viewer", "editor"):
        with backend.add_key(role) as client:
            assert client.get("/project").json()["name"] == "default"
            assert client.get("/keys").status_code == 403
            assert client.post("/keys", json={"name": "x"}).status_code == 403
            assert client.delete("/keys/key_x").status_code == 403


def test_unknown_roles_are_refused(backend: Backend) -> None:
    response = backend.api.post("/keys", json={"name": "x", "role": "god"})
    assert (response.status_code, response.json()["error"]["param"]) == (422, "role")


def test_an_owners_key_is_of_one_project_whoever_makes_it(backend: Backend) -> None:
    other = made(backend.api.post("/projects", json={"name": "not the key's", "with_key": True}))
    home = backend.api.get("/me").json()["project"]
    plain = made(backend.api.post("/keys", json={"name": "plain", "role": "owner"}))
    assert plain["administrator"] is False
    for secret, elsewhere in ((plain["key"], other["id"]), (other["key"], home)):
        with backend.client(secret, "/api/v1") as client:
            answer = client.get("/jobs", headers={"x-reinforge-project": elsewhere})
            assert refusal(answer) == (404, "project_not_found")
            assert refusal(client.post("/projects", json={"name": "x"})) == (403, "not_administrator")


def test_only_an_administrator_creates_an_administrators_key(backend: Backend) -> None:
    body = {"name": "runs it", "role": "owner", "administrator": True}
    key = made(backend.api.post("/keys", json=body))
    assert key["administrator"] is True
    listed = {item["id"]: item["administrator"] for item in backend.api.get("/keys").json()["data"]}
    assert listed[key["id"]] is True
    with backend.client(key["key"], "/api/v1") as client:
        other = made(client.post("/projects", json={"name": "made by it"}))
        named = client.get("/me", headers={"x-reinforge-project": other["id"]}).json()
        assert named["project"] == other["id"]
        assert made(client.post("/keys", json=body))["administrator"] is True
    with backend.add_key("owner") as owner:
        assert refusal(owner.post("/keys", json=body)) == (403, "not_administrator")
        assert made(owner.post("/keys", json=body | {"administrator": False}))["administrator"] is False


@pytest.mark.parametrize("narrower", [{"role": "editor"}, {"scopes": ["read", "admin"]}])
def test_a_key_that_runs_the_platform_is_not_narrow(backend: Backend, narrower: dict[str, Any]) -> None:
    body = {"name": "half", "role": "owner", "administrator": True}
    answer = backend.api.post("/keys", json=body | narrower)
    assert refusal(answer) == (422, "invalid_administrator_key")
    assert answer.json()["error"]["param"] == "administrator"
