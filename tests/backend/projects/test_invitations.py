"""Invitations: one address, one person, one project."""

from typing import Any

import pytest

from tests.backend.people import browser, made, refusal, sign_in, token_of
from tests.backend.server import Backend


def invite(backend: Backend, **body: Any) -> dict[str, Any]:
    return made(backend.api.post("/invitations", json=body))


def test_a_newcomer_looks_joins_and_is_signed_in(backend: Backend) -> None:
    invited = invite(backend, role="viewer", note="for Ines")
    token = token_of(invited["url"])
    with browser(backend) as client:
        for _ in range(2):
            offer = made(client.post("/invitations/look", json={"token": token}), 200)
        assert (offer["project_name"], offer["role"], offer["signed_in_as"]) == ("default", "viewer", None)
        body = {"token": token, "name": "Ines", "email": "ines@example.org", "password": "long enough words"}
        me = made(client.post("/invitations/accept", json=body), 200)
        assert (me["name"], me["role"], me["has_password"]) == ("Ines", "viewer", True)
        assert client.get("/me").json()["user"] == me["user"]
    assert invited["id"] not in [
        invitation["id"] for invitation in backend.api.get("/invitations").json()["data"]
    ]


def test_it_is_accepted_once(backend: Backend) -> None:
    token = token_of(invite(backend)["url"])
    with browser(backend) as first, browser(backend) as second:
        made(first.post("/invitations/accept", json={"token": token, "name": "First"}), 200)
        again = second.post("/invitations/accept", json={"token": token, "name": "Second"})
        assert refusal(again) == (404, "invitation_not_found")
        assert second.get("/me").status_code == 401


def test_a_refused_answer_does_not_use_it_up(backend: Backend) -> None:
    token = token_of(invite(backend)["url"])
    with browser(backend) as client:
        for body in ({}, {"name": "Pat", "password": "a long password"}):
            assert client.post("/invitations/accept", json={"token": token} | body).status_code == 422
        made(client.post("/invitations/accept", json={"token": token, "name": "Pat"}), 200)


@pytest.mark.parametrize("end", ["withdrawn", "expired"])
def test_it_ends(backend: Backend, end: str) -> None:
    invited = invite(backend)
    if end == "withdrawn":
        assert backend.api.delete(f"/invitations/{invited['id']}").status_code == 204
        assert backend.api.delete(f"/invitations/{invited['id']}").status_code == 404
    else:
        backend.sql("UPDATE invitation SET expires_at = now() WHERE id = %s", invited["id"])
        listed = backend.api.get("/invitations").json()["data"]
        assert invited["id"] in [invitation["id"] for invitation in listed], (
            "an expired one stays until it is withdrawn"
        )
    with browser(backend) as client:
        for path, more in (("look", {}), ("accept", {"name": "Late"})):
            answer = client.post(f"/invitations/{path}", json={"token": token_of(invited["url"])} | more)
            assert refusal(answer) == (404, "invitation_not_found")


def test_a_member_does_not_join_twice(backend: Backend) -> None:
    member = made(backend.api.post("/members", json={"name": "Once"}))
    invited = invite(backend, role="owner")
    with sign_in(backend, member["url"]) as client:
        body = {"token": token_of(invited["url"])}
        assert refusal(client.post("/invitations/accept", json=body)) == (409, "member_exists")
        assert client.get("/me").json()["role"] == "editor"
    assert invited["id"] in [
        invitation["id"] for invitation in backend.api.get("/invitations").json()["data"]
    ]


def test_they_are_for_owners_and_their_token_is_nowhere(backend: Backend) -> None:
    invited = invite(backend)
    with backend.add_key("editor") as editor:
        for answer in (
            editor.get("/invitations"),
            editor.post("/invitations", json={}),
            editor.delete(f"/invitations/{invited['id']}"),
        ):
            assert refusal(answer) == (403, "not_owner")
    token = token_of(invited["url"])
    assert token not in backend.api.get("/invitations").text
    assert token not in str(backend.sql("SELECT * FROM invitation"))


def test_the_old_name_of_editors_is_still_taken(backend: Backend) -> None:
    assert invite(backend, role="member")["role"] == "editor"
    assert made(backend.api.post("/keys", json={"name": "old", "role": "member"}))["role"] == "editor"
