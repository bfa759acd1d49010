"""Scoped keys: each allows its scopes and no more; every room of the API has a scope."""

import httpx
import pytest

from backend.access import scopes
from reinforge.schemas.keys import SCOPES
from tests.backend.people import made, refusal
from tests.backend.server import REWARD, Backend
from tests.backend.tenancy import operations

REQUESTS = {
    "read": ("GET", "/jobs", None),
    "data:write": ("POST", "/rewards", {"name": "by scope", "source": REWARD}),
    "jobs:write": ("POST", "/jobs/ftjob-x/cancel", None),
    "inference": ("POST", "/sample", {"model": "tiny", "prompts": []}),
    "admin": ("POST", "/keys", {"name": "made by one", "role": "viewer", "scopes": ["admin"]}),
}


def key(backend: Backend, *key_scopes: str, role: str = "owner") -> str:
    body = {"name": "-".join(key_scopes), "role": role, "scopes": list(key_scopes)}
    return str(made(backend.api.post("/keys", json=body))["key"])


@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_may_do_what_its_scope_names_and_nothing_else(rpc_backend: Backend, scope: str) -> None:
    with rpc_backend.client(key(rpc_backend, scope), "/api/v1") as client:
        me = client.get("/me").json()
        assert me["scopes"] == [scope]
        for other, (method, path, body) in REQUESTS.items():
            answer = client.request(method, path, json=body)
            if other == scope:
                assert answer.status_code in (200, 201, 404, 422), answer.text
                if other == "admin":
                    assert answer.json()["error"]["code"] == "scope_over_role"
            else:
                assert refusal(answer) == (403, "missing_scope"), f"{scope} did {path}"


def test_every_room_that_changes_things_has_a_scope(backend: Backend) -> None:
    """A new room: say in `backend.access.scopes.WRITES` which scope its changes need."""
    unnamed = {
        scopes.room(operation.path)
        for operation in operations(backend)
        if operation.method != "get" and scopes.room(operation.path) not in scopes.WRITES
    }
    assert unnamed - scopes.ANY == set()


def test_scopes_do_not_exceed_the_role(backend: Backend) -> None:
    body = {"name": "x", "role": "viewer", "scopes": ["read", "jobs:write"]}
    assert refusal(backend.api.post("/keys", json=body)) == (422, "scope_over_role")


def test_a_narrow_key_makes_no_wider_one(backend: Backend) -> None:
    with backend.client(key(backend, "admin"), "/api/v1") as client:
        for requested in (None, ["read", "admin"]):
            body = {"name": "wider", "role": "owner", "scopes": requested}
            assert refusal(client.post("/keys", json=body)) == (403, "scope_over_own")
        assert made(client.post("/keys", json={"name": "same", "role": "owner", "scopes": ["admin"]}))


def test_a_narrow_key_lets_nobody_in_who_may_do_more(backend: Backend) -> None:
    """People have no scopes: an address that it made would open to its holder what the key does not."""
    viewer = made(backend.api.post("/members", json={"name": "Looks", "role": "viewer"}))["id"]
    editor = made(backend.api.post("/members", json={"name": "Works", "role": "editor"}))["id"]
    with backend.client(key(backend, "admin", "read"), "/api/v1") as client:
        for answer in (
            client.post("/members", json={"name": "Myself", "role": "owner"}),
            client.post("/invitations", json={"role": "editor"}),
            client.patch(f"/members/{viewer}", json={"role": "owner"}, headers={"if-match": "*"}),
            client.post(f"/members/{editor}/sign-in-link"),
            client.post(f"/members/{editor}/password-reset"),
        ):
            assert refusal(answer) == (403, "scope_over_own")
        assert client.post(f"/members/{viewer}/sign-in-link").status_code == 200
        assert made(client.post("/members", json={"name": "Looks too", "role": "viewer"}))
        assert made(client.post("/invitations", json={"role": "viewer"}))
    with backend.client(key(backend, *SCOPES), "/api/v1") as client:
        assert made(client.post("/invitations", json={"role": "owner"}))


def test_a_browser_that_signed_in_with_a_narrow_key_is_as_narrow(backend: Backend) -> None:
    token = key(backend, "read", role="editor")
    headers = {"sec-fetch-site": "same-origin"}
    with httpx.Client(base_url=f"{backend.url}/api/v1", headers=headers) as page:
        made(page.post("/sign-in", json={"token": token}), 200)
        assert page.get("/jobs").status_code == 200
        assert refusal(page.post("/jobs/ftjob-x/cancel")) == (403, "missing_scope")


def test_a_key_expires(backend: Backend) -> None:
    answer = made(backend.api.post("/keys", json={"name": "for a day", "expires_in_days": 1}))
    assert answer["expires_at"] > answer["created_at"]
    with backend.client(answer["key"], "/api/v1") as client:
        assert client.get("/me").status_code == 200
        backend.sql("UPDATE api_key SET expires_at = now() WHERE id = %s", answer["id"])
        assert refusal(client.get("/me")) == (401, "invalid_api_key")
    signed = backend.bare.post("/api/v1/sign-in", json={"token": answer["key"]})
    assert refusal(signed) == (401, "invalid_sign_in_token")


def test_keys_without_scopes_do_what_their_role_may(backend: Backend) -> None:
    with backend.add_key("editor") as editor:
        assert editor.get("/me").json()["scopes"] is None
        assert editor.post("/rewards", json={"name": "x"}).status_code == 422
