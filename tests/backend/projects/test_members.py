"""Members: added, changed and removed by owners; each signs in with an address that works once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.backend.server import Backend


def invite(backend: Backend, name: str, role: str = "editor") -> dict[str, Any]:
    response = backend.api.post("/members", json={"name": name, "role": role})
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


@contextmanager
def sign_in(backend: Backend, url: str) -> Iterator[httpx.Client]:
    """A browser that followed the address."""
    [token] = parse_qs(urlsplit(url).query)["token"]
    headers = {"sec-fetch-site": "same-origin"}
    with httpx.Client(base_url=f"{backend.url}/api/v1", headers=headers) as browser:
        response = browser.post("/sign-in", json={"token": token})
        assert response.status_code == 200, response.text
        yield browser


def test_a_member_signs_in_once_with_their_address_and_is_named(backend: Backend) -> None:
    made = invite(backend, "Ada")
    assert made["last_seen_at"] is None
    with sign_in(backend, made["url"]) as browser:
        me = browser.get("/me").json()
        assert (me["name"], me["role"], me["member"], me["user"]) == (
            "Ada",
            "editor",
            made["id"],
            made["user"],
        )
    token = parse_qs(urlsplit(made["url"]).query)["token"][0]
    assert backend.bare.post("/api/v1/sign-in", json={"token": token}).status_code == 401
    [listed] = [member for member in backend.api.get("/members").json()["data"] if member["id"] == made["id"]]
    assert listed["last_seen_at"] is not None
    assert "url" not in listed
    assert backend.api.get("/me").json()["member"] is None


def test_a_changed_role_holds_at_once_in_open_sessions(backend: Backend) -> None:
    made = invite(backend, "Grace", "viewer")
    with sign_in(backend, made["url"]) as browser:
        assert browser.post("/members", json={"name": "x"}).status_code == 403
        assert (
            backend.api.patch(
                f"/members/{made['id']}", headers={"if-match": "*"}, json={"role": "owner"}
            ).json()["role"]
            == "owner"
        )
        assert browser.get("/me").json()["role"] == "owner"
        assert browser.post("/members", json={"name": "Of Grace"}).status_code == 201
        backend.api.patch(f"/members/{made['id']}", headers={"if-match": "*"}, json={"role": "viewer"})
        assert browser.get("/keys").status_code == 403


def test_a_removed_member_is_out_at_once_and_so_is_their_address(backend: Backend) -> None:
    made = invite(backend, "Alan")
    fresh = backend.api.post(f"/members/{made['id']}/sign-in-link").json()
    with sign_in(backend, fresh["url"]) as browser:
        link = browser.post("/sign-in-links").json()["url"]
        again = backend.api.post(f"/members/{made['id']}/sign-in-link").json()
        assert backend.api.delete(f"/members/{made['id']}").status_code == 204
        assert browser.get("/me").status_code == 401
    for url in (again["url"], link):
        token = parse_qs(urlsplit(url).query)["token"][0]
        assert backend.bare.post("/api/v1/sign-in", json={"token": token}).status_code == 401
    assert made["id"] not in [member["id"] for member in backend.api.get("/members").json()["data"]]
    for call in (backend.api.delete, lambda url: backend.api.post(f"{url}/sign-in-link")):
        assert call(f"/members/{made['id']}").status_code == 404


def test_a_fresh_address_takes_the_place_of_an_unused_one(backend: Backend) -> None:
    made = invite(backend, "Edsger")
    fresh = backend.api.post(f"/members/{made['id']}/sign-in-link").json()
    token = parse_qs(urlsplit(made["url"]).query)["token"][0]
    assert backend.bare.post("/api/v1/sign-in", json={"token": token}).status_code == 401
    with sign_in(backend, fresh["url"]) as browser:
        assert browser.get("/me").json()["name"] == "Edsger"


def test_an_address_that_a_member_makes_for_their_phone_is_theirs(backend: Backend) -> None:
    made = invite(backend, "Barbara", "viewer")
    with sign_in(backend, made["url"]) as browser:
        link = browser.post("/sign-in-links").json()["url"]
    with sign_in(backend, link) as phone:
        assert phone.get("/me").json()["member"] == made["id"]


def test_a_name_is_unique(backend: Backend) -> None:
    invite(backend, "Donald")
    again = backend.api.post("/members", json={"name": " Donald "})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "member_exists")
    assert backend.api.post("/members", json={"name": "  "}).status_code == 422


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_only_owners_manage_members(backend: Backend, role: str) -> None:
    made = invite(backend, f"Managed by {role}")
    with backend.add_key(role) as client:
        assert client.get("/members").status_code == 200
        answers = [
            client.post("/members", json={"name": "x"}),
            client.patch(f"/members/{made['id']}", headers={"if-match": "*"}, json={"role": "owner"}),
            client.post(f"/members/{made['id']}/sign-in-link"),
            client.delete(f"/members/{made['id']}"),
        ]
    assert [answer.status_code for answer in answers] == [403] * 4


def test_no_address_is_stored_in_plain(backend: Backend) -> None:
    token = parse_qs(urlsplit(invite(backend, "Margaret")["url"]).query)["token"][0]
    assert token not in str(backend.sql("SELECT * FROM sign_in_token"))


def test_members_are_paged_newest_first(backend: Backend) -> None:
    ids = [invite(backend, f"Page {n}")["id"] for n in range(3)]
    page = backend.api.get("/members", params={"limit": 2}).json()
    assert [member["id"] for member in page["data"]] == ids[:0:-1]
    rest = backend.api.get("/members", params={"limit": 1, "after": page["next_cursor"]}).json()
    assert rest["data"][0]["id"] == ids[0]


def test_what_the_project_holds_is_counted(rpc_backend: Backend) -> None:
    before = rpc_backend.api.get("/project/counts").json()
    assert before["demo_job"] is None
    plain, demo = rpc_backend.create_job(), rpc_backend.create_job(metadata={"demo": "abc"})
    rpc_backend.create_job()
    rpc_backend.api.post(f"/jobs/{plain}/cancel")
    after = rpc_backend.api.get("/project/counts").json()
    grown = {key: after[key] - before[key] for key in ("datasets", "rewards", "jobs", "unfinished_jobs")}
    assert grown == {"datasets": 3, "rewards": 0, "jobs": 3, "unfinished_jobs": 2}
    assert (after["demo_job"], after["adapters"]) == (demo, 0)
    assert after["models"] >= 1
