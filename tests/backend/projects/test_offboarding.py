"""A person's keys, invitations and one-time addresses end with their rights."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.backend.people import browser, made, refusal, sign_in, starter, token_of
from tests.backend.server import Backend


def person(backend: Backend, name: str, role: str) -> dict[str, Any]:
    return made(backend.api.post("/members", json={"name": name, "role": role}))


def demote(backend: Backend, member: dict[str, Any]) -> None:
    made(
        backend.api.patch(f"/members/{member['id']}", headers={"if-match": "*"}, json={"role": "viewer"}), 200
    )


def remove(backend: Backend, member: dict[str, Any]) -> None:
    assert backend.api.delete(f"/members/{member['id']}").status_code == 204


@pytest.fixture
def owner(backend: Backend) -> Iterator[tuple[dict[str, Any], httpx.Client]]:
    """Somebody who is of another project, too: removed from one they are a user still."""
    member = person(backend, "Olga", "owner")
    backend.sql(
        "INSERT INTO project (id, name, created_at) VALUES ('proj_o', 'hers', now()) ON CONFLICT DO NOTHING"
    )
    with sign_in(backend, member["url"]) as client:
        backend.sql(
            "INSERT INTO member (id, project_id, user_id, role, created_at) VALUES (%s, 'proj_o', %s, 'owner', now())",
            f"{member['id']}_o",
            member["user"],
        )
        yield member, client
    backend.api.delete(f"/members/{member['id']}")
    backend.sql("DELETE FROM member WHERE project_id = 'proj_o'")


Owner = tuple[dict[str, Any], httpx.Client]


def test_keys_of_somebody_who_is_removed_are_revoked(backend: Backend, owner: Owner) -> None:
    member, client = owner
    key = made(client.post("/keys", json={"name": "mine", "role": "owner"}))["key"]
    with backend.client(key, "/api/v1") as by_key:
        second = made(by_key.post("/keys", json={"name": "made by mine", "role": "viewer"}))["key"]
        link = made(by_key.post("/sign-in-links"), 200)["url"]
        with browser(backend) as page:
            made(page.post("/sign-in", json={"token": key}), 200)
            remove(backend, member)
            assert page.get("/me").status_code == 401
        assert by_key.get("/me").status_code == 401
    with backend.client(second, "/api/v1") as by_second:
        assert by_second.get("/me").status_code == 401
    with browser(backend) as stranger:
        assert stranger.post("/sign-in", json={"token": key}).status_code == 401
        assert stranger.post("/sign-in", json={"token": token_of(link)}).status_code == 401
    names = {item["name"] for item in backend.api.get("/keys").json()["data"]}
    assert not names & {"mine", "made by mine"}


def test_a_transferred_key_outlives_its_maker_and_follows_its_new_one(backend: Backend, owner: Owner) -> None:
    member, client = owner
    key = made(client.post("/keys", json={"name": "nightly", "role": "editor"}))
    other = made(client.post("/keys", json={"name": "other", "role": "editor"}))
    assert key["maker"] == member["user"]
    heir = person(backend, "Hanna", "owner")
    with sign_in(backend, heir["url"]) as hers, backend.client(key["key"], "/api/v1") as by_key:
        assert refusal(by_key.post(f"/keys/{key['id']}/transfer")) == (403, "not_owner")
        transferred = made(hers.post(f"/keys/{key['id']}/transfer"), 200)
        assert transferred["maker"] == heir["user"]
        assert "key" not in transferred
        remove(backend, member)
        assert by_key.get("/me").json()["role"] == "editor"
        demote(backend, heir)
        assert by_key.get("/me").json()["role"] == "viewer"
        assert refusal(hers.post(f"/keys/{other['id']}/transfer"))[0] == 403
        remove(backend, heir)
        assert by_key.get("/me").status_code == 401
    assert refusal(backend.api.post(f"/keys/{other['id']}/transfer")) == (404, "key_not_found")
    audited = backend.api.get("/audit", params={"q": "transferApiKey"}).json()["data"]
    assert [(entry["target"], entry["actor_name"]) for entry in audited] == [(key["id"], "Hanna")]


def test_a_key_is_not_transferred_by_whom_it_may_do_more_than(backend: Backend, owner: Owner) -> None:
    """A narrow key would make a wider one its own; one that runs the platform is for who does."""
    _, client = owner
    wide = made(client.post("/keys", json={"name": "wide", "role": "owner"}))
    narrow = made(client.post("/keys", json={"name": "narrow", "role": "owner", "scopes": ["admin"]}))
    runs = made(backend.api.post("/keys", json={"name": "runs", "role": "owner", "administrator": True}))
    with backend.client(narrow["key"], "/api/v1") as by_narrow:
        assert refusal(by_narrow.post(f"/keys/{wide['id']}/transfer")) == (403, "scope_over_own")
    assert refusal(client.post(f"/keys/{runs['id']}/transfer")) == (403, "not_administrator")


def test_a_key_may_do_no_more_than_its_maker_may_now(backend: Backend, owner: Owner) -> None:
    member, client = owner
    key = made(client.post("/keys", json={"name": "wide", "role": "owner"}))["key"]
    with backend.client(key, "/api/v1") as by_key:
        assert by_key.get("/me").json()["role"] == "owner"
        demote(backend, member)
        assert by_key.get("/me").json()["role"] == "viewer"
        assert refusal(by_key.post("/keys", json={"name": "x", "role": "viewer"})) == (403, "not_allowed")


@pytest.mark.parametrize("end", [remove, demote])
def test_invitations_end_with_the_rights_of_who_made_them(backend: Backend, owner: Owner, end: Any) -> None:
    member, client = owner
    url = made(client.post("/invitations", json={"role": "owner"}))["url"]
    end(backend, member)
    assert backend.api.get("/invitations").json()["data"] == []
    with browser(backend) as stranger:
        body = {"token": token_of(url), "name": "Back again"}
        assert stranger.post("/invitations/accept", json=body).status_code == 404


@pytest.mark.parametrize("purpose", ["sign-in-link", "password-reset"])
@pytest.mark.parametrize("end", [remove, demote])
def test_addresses_for_others_end_with_them(backend: Backend, owner: Owner, end: Any, purpose: str) -> None:
    member, client = owner
    other = person(backend, "Otto", "owner")
    url = made(client.post(f"/members/{other['id']}/{purpose}"), 200)["url"]
    end(backend, member)
    with browser(backend) as stranger:
        if purpose == "sign-in-link":
            answer = stranger.post("/sign-in", json={"token": token_of(url)})
        else:
            body = {"token": token_of(url), "password": "correct horse battery", "email": "otto@example.org"}
            answer = stranger.post("/password-reset", json=body)
        assert refusal(answer) == (401, "invalid_sign_in_token")
    remove(backend, other)


def test_rights_are_checked_again_when_they_are_used(backend: Backend, owner: Owner) -> None:
    """Even where nobody has taken them back: the membership alone is gone."""
    member, client = owner
    key = made(client.post("/keys", json={"name": "left", "role": "owner"}))["key"]
    url = made(client.post("/invitations", json={"role": "owner"}))["url"]
    other = person(backend, "Ola", "viewer")
    address = made(client.post(f"/members/{other['id']}/sign-in-link"), 200)["url"]
    backend.sql("DELETE FROM member WHERE id = %s", member["id"])
    with backend.client(key, "/api/v1") as by_key, browser(backend) as stranger:
        assert by_key.get("/me").status_code == 401
        assert stranger.post("/invitations/look", json={"token": token_of(url)}).status_code == 404
        body = {"token": token_of(url), "name": "Back again"}
        assert stranger.post("/invitations/accept", json=body).status_code == 404
        assert stranger.post("/sign-in", json={"token": token_of(address)}).status_code == 401


def test_the_platforms_own_keys_stay(backend: Backend, owner: Owner) -> None:
    """Made with a key that no person made, as services have it."""
    member, _ = owner
    service = made(backend.api.post("/keys", json={"name": "service", "role": "editor"}))["key"]
    remove(backend, member)
    with backend.client(service, "/api/v1") as client:
        assert client.get("/me").json()["role"] == "editor"


@pytest.mark.parametrize("purpose", ["sign-in-link", "password-reset"])
def test_an_address_opens_no_project_that_the_person_joined_later(backend: Backend, purpose: str) -> None:
    """An owner makes it and waits; so does a browser that they have opened as that person."""
    member = person(backend, "Mia", "viewer")
    with starter(backend) as platform:
        platform.post("/projects", json={"name": "later"})
        later = next(
            project["id"]
            for project in platform.get("/projects").json()["data"]
            if project["name"] == "later"
        )
        invitation = made(
            platform.post("/invitations", json={"role": "owner"}, headers={"x-reinforge-project": later})
        )["url"]
    chief = person(backend, "Chief", "owner")
    with sign_in(backend, chief["url"]) as attacker, sign_in(backend, member["url"]) as mia:
        link = made(attacker.post(f"/members/{member['id']}/sign-in-link"), 200)["url"]
        with sign_in(backend, link) as as_mia:
            url = made(attacker.post(f"/members/{member['id']}/{purpose}"), 200)["url"]
            joined = made(mia.post("/invitations/accept", json={"token": token_of(invitation)}), 200)
            assert (joined["project"], joined["role"]) == (later, "owner")
            assert as_mia.get("/me").status_code == 401
        with browser(backend) as stranger:
            path = "/sign-in" if purpose == "sign-in-link" else "/password-reset"
            body = {"token": token_of(url)}
            if purpose == "password-reset":
                body |= {"password": "correct horse battery", "email": "mia@example.org"}
            assert refusal(stranger.post(path, json=body)) == (401, "invalid_sign_in_token")
        assert mia.get("/me").json()["project"] == later
    for member_id in (member, chief):
        remove(backend, member_id)


def test_a_bound_address_is_checked_when_it_is_used(backend: Backend) -> None:
    """Whatever way the person came to another project."""
    member = person(backend, "Nora", "viewer")
    chief = person(backend, "Chef", "owner")
    with sign_in(backend, chief["url"]) as client:
        url = made(client.post(f"/members/{member['id']}/sign-in-link"), 200)["url"]
    backend.sql("INSERT INTO project (id, name, created_at) VALUES ('proj_n', 'noras', now())")
    backend.sql(
        "INSERT INTO member (id, project_id, user_id, role, created_at) VALUES ('mem_n', 'proj_n', %s, 'owner', now())",
        member["user"],
    )
    with browser(backend) as stranger:
        assert stranger.post("/sign-in", json={"token": token_of(url)}).status_code == 401
