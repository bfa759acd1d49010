"""API keys: made, used, listed and revoked by owners alone."""

import httpx

from tests.backend.server import Backend


def test_a_key_is_shown_once_and_works_until_it_is_revoked(backend: Backend) -> None:
    made = backend.api.post("/keys", json={"name": "ci", "role": "editor"})
    assert made.status_code == 201
    key = made.json()
    assert key["key"].startswith(key["prefix"])
    with backend.client(key["key"], "/api/v1") as client:
        assert client.get("/me").json()["role"] == "editor"
        listed = backend.api.get("/keys").json()["data"]
        assert key["id"] in [each["id"] for each in listed]
        assert all("key" not in each and "sha256" not in each for each in listed)
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
