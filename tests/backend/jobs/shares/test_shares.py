"""Share links: what they show, that their token is good for nothing else, and when they end."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.backend.jobs.monitoring.test_group import group, send
from tests.backend.people import made, refusal, sign_in, starter
from tests.backend.server import Backend
from tests.backend.tenancy import Stranger, operations


@pytest.fixture(scope="module")
def job(rpc_backend: Backend) -> str:
    id = rpc_backend.create_job(name="shared job")
    trainer = rpc_backend.claim(id)
    trainer.start()
    trainer.step(1)
    trainer.evaluate(1, 0.5)
    send(trainer, 1, "held_out", [group(0, "secret prompt")])
    return id


def share(client: httpx.Client, job: str, **body: Any) -> dict[str, Any]:
    return made(client.post(f"/jobs/{job}/shares", json=body))


def look(backend: Backend, share: dict[str, Any]) -> httpx.Response:
    return backend.bare.get(f"/shared/{token_of(share)}")


def token_of(share: dict[str, Any]) -> str:
    return str(share["url"]).rpartition("/shared/")[2]


def test_it_shows_the_job_without_sign_in(rpc_backend: Backend, job: str) -> None:
    plain, full = share(rpc_backend.api, job), share(rpc_backend.api, job, samples=3)
    page = look(rpc_backend, plain)
    assert page.status_code == 200 and "shared job" in page.text and "Held-out rows" in page.text
    assert "secret prompt" not in page.text
    assert "secret prompt" in look(rpc_backend, full).text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert (page.headers["cache-control"], page.headers["referrer-policy"]) == ("no-store", "no-referrer")


def test_its_token_opens_nothing_else(rpc_backend: Backend, job: str) -> None:
    token = token_of(share(rpc_backend.api, job, samples=3))
    reached = []
    with rpc_backend.client(token) as bearer, httpx.Client(base_url=rpc_backend.url) as browser:
        browser.cookies.set("reinforge_session", token)
        for operation in operations(rpc_backend):
            path = operation.path.replace("{id}", job)
            for client in (bearer, browser):
                if client.request(operation.method, path).status_code != 401:
                    reached.append(f"{operation.method} {path} ({operation.id})")
    public = {"signIn", "signOut", "acceptInvitation", "getInvitation", "lookAtInvitation", "resetPassword"}
    assert {name.rpartition("(")[2].strip(")") for name in reached} <= public, reached
    for path in (f"/shared/{token}/metrics", f"/shared/{token}x", "/shared/"):
        assert rpc_backend.bare.get(path).status_code == 404


def test_the_token_is_stored_hashed_and_in_no_other_answer(rpc_backend: Backend, job: str) -> None:
    link = share(rpc_backend.api, job)
    [(row,)] = rpc_backend.sql("SELECT row_to_json(job_share)::text FROM job_share WHERE id = %s", link["id"])
    listed = rpc_backend.api.get(f"/jobs/{job}/shares")
    audit = rpc_backend.api.get("/audit")
    assert link["id"] in row and link["id"] in listed.text
    assert token_of(link) not in row + listed.text + audit.text
    assert "createJobShare" in audit.text


def test_it_ends_when_revoked_or_expired(rpc_backend: Backend, job: str) -> None:
    revoked, expired = share(rpc_backend.api, job), share(rpc_backend.api, job, expires_in_days=1)
    assert rpc_backend.api.delete(f"/jobs/{job}/shares/{revoked['id']}").status_code == 204
    rpc_backend.sql("UPDATE job_share SET expires_at = now() WHERE id = %s RETURNING id", expired["id"])
    for link in (revoked, expired):
        gone = look(rpc_backend, link)
        assert gone.status_code == 404 and "shared job" not in gone.text
    again = rpc_backend.api.delete(f"/jobs/{job}/shares/{revoked['id']}")
    assert refusal(again) == (404, "share_not_found")
    by_id = {one["id"]: one for one in rpc_backend.api.get(f"/jobs/{job}/shares").json()["data"]}
    assert revoked["id"] not in by_id and by_id[expired["id"]]["active"] is False


def test_it_ends_with_the_job(rpc_backend: Backend) -> None:
    id = rpc_backend.create_job()
    link = share(rpc_backend.api, id)
    assert look(rpc_backend, link).status_code == 200
    rpc_backend.api.post(f"/jobs/{id}/cancel").raise_for_status()
    assert rpc_backend.api.delete(f"/jobs/{id}").status_code == 204
    assert look(rpc_backend, link).status_code == 404


@pytest.fixture
def editor(rpc_backend: Backend) -> Iterator[tuple[httpx.Client, str]]:
    """A person's browser, and their member id."""
    with starter(rpc_backend) as owner:
        member = made(owner.post("/members", json={"name": "Ada", "role": "editor"}))
        with sign_in(rpc_backend, member["url"]) as browser:
            yield browser, member["id"]


def test_it_ends_when_its_creator_loses_their_rights(
    rpc_backend: Backend, job: str, editor: tuple[httpx.Client, str]
) -> None:
    browser, member = editor
    link = share(browser, job)
    for role, status in (("viewer", 404), ("editor", 200)):
        url = f"/members/{member}"
        rpc_backend.api.patch(url, json={"role": role}, headers={"if-match": "*"}).raise_for_status()
        assert look(rpc_backend, link).status_code == status, role
    rpc_backend.api.delete(f"/members/{member}").raise_for_status()
    assert look(rpc_backend, link).status_code == 404


def test_it_ends_with_its_key(rpc_backend: Backend, job: str) -> None:
    key = made(rpc_backend.api.post("/keys", json={"name": "for sharing"}))
    with rpc_backend.client(key["key"], "/api/v1") as client:
        link = share(client, job)
    assert look(rpc_backend, link).status_code == 200
    rpc_backend.api.delete(f"/keys/{key['id']}").raise_for_status()
    assert look(rpc_backend, link).status_code == 404


def test_viewers_and_other_projects_create_none(rpc_backend: Backend, job: str) -> None:
    with rpc_backend.add_key("viewer") as viewer:
        assert viewer.post(f"/jobs/{job}/shares", json={}).status_code == 403
    stranger = Stranger(rpc_backend)
    link = share(rpc_backend.api, job)
    assert refusal(stranger.api.post(f"/jobs/{job}/shares", json={})) == (404, "job_not_found")
    url = f"/jobs/{stranger.things['jobs']}/shares/{link['id']}"
    assert refusal(stranger.api.delete(url)) == (404, "share_not_found")
    assert look(rpc_backend, link).status_code == 200
