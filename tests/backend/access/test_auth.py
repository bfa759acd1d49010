"""Keys, roles, sessions: who may do what."""

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.backend.server import OWNER_KEY, Backend


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


OPEN = {
    f"/api/v1/{name}"
    for name in ("sign-in", "sign-out", "password-reset", "invitations/look", "invitations/accept")
}
"""Of whoever holds a one-time token, or nothing to lose."""


def test_every_endpoint_of_the_api_needs_a_key(backend: Backend) -> None:
    paths = backend.app.openapi()["paths"]
    checked = 0
    for path, methods in paths.items():
        if not path.startswith("/api/v1") or path in OPEN:
            continue
        for method in methods:
            url = path.replace("{split}", "train").replace("{", "").replace("}", "")
            url = url.replace("/step/prompt_no/sample_no", "/1/1/1")
            response = backend.bare.request(method.upper(), url)
            assert code(response) == (401, "missing_api_key"), f"{method} {path}"
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("header", ["Bearer rf-wrong", "Bearer", "Basic abc", "rf-test-owner-key"])
def test_a_wrong_key(backend: Backend, header: str) -> None:
    response = backend.bare.get("/api/v1/me", headers={"authorization": header})
    assert code(response) == (401, "invalid_api_key")
    assert response.headers["www-authenticate"] == "Bearer"


def test_the_bootstrap_key_is_an_owner_of_the_default_project(backend: Backend) -> None:
    me = backend.api.get("/me").json()
    assert (me["role"], me["project_name"], me["name"]) == ("owner", "default", "bootstrap")
    [(stored,)] = backend.sql("SELECT sha256 FROM api_key WHERE name = 'bootstrap'")
    assert OWNER_KEY not in stored


def test_a_viewer_reads_and_does_not_write(backend: Backend) -> None:
    with backend.add_key("viewer") as viewer:
        assert viewer.get("/jobs").status_code == 200
        for path in ("/jobs", "/jobs/ftjob-x/cancel"):
            assert code(viewer.post(path, json={})) == (403, "not_allowed")


def test_a_revoked_key_stops_working(backend: Backend) -> None:
    with backend.add_key("editor") as editor:
        assert editor.get("/me").json()["role"] == "editor"
        backend.sql("UPDATE api_key SET revoked_at = now() WHERE name = 'editor'")
        assert code(editor.get("/me")) == (401, "invalid_api_key")


@contextlib.contextmanager
def signed_in(backend: Backend, token: str = OWNER_KEY) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=backend.url, timeout=30) as browser:
        response = browser.post("/api/v1/sign-in", json={"token": token})
        assert response.status_code == 200, response.text
        cookie = response.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        yield browser


def test_a_cookie_changes_things_only_from_our_own_page(backend: Backend) -> None:
    with signed_in(backend) as browser:
        assert browser.get("/api/v1/me").json()["name"] == "bootstrap"
        path = "/api/v1/jobs/ftjob-x/cancel"
        for headers in ({}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
            assert code(browser.post(path, headers=headers)) == (403, "cross_origin")
        for headers in ({"origin": backend.url}, {"sec-fetch-site": "same-origin"}):
            assert code(browser.post(path, headers=headers)) == (404, "job_not_found")


def test_signing_out_ends_the_session(backend: Backend) -> None:
    with signed_in(backend) as browser:
        cookies = dict(browser.cookies)
        out = browser.post("/api/v1/sign-out", headers={"sec-fetch-site": "same-origin"})
        assert out.status_code == 204
        assert "reinforge_session" not in browser.cookies
    with httpx.Client(base_url=backend.url, cookies=cookies) as thief:
        assert code(thief.get("/api/v1/me")) == (401, "invalid_api_key")


def test_a_sign_in_link_works_once(backend: Backend) -> None:
    url = backend.api.post("/sign-in-links").json()["url"]
    token = parse_qs(urlsplit(url).query)["token"][0]
    with signed_in(backend, token) as browser:
        assert browser.get("/api/v1/me").json()["role"] == "owner"
    again = backend.bare.post("/api/v1/sign-in", json={"token": token})
    assert code(again) == (401, "invalid_sign_in_token")


def test_without_a_bootstrap_key_start_up_leaves_a_one_time_address(
    database_url: str, tmp_path: Path
) -> None:
    with Backend(database_url, tmp_path / "home", bootstrap_api_key=None, url="http://platform:1") as running:
        file = tmp_path / "home" / "sign-in-url"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        url = file.read_text().strip()
        assert url.startswith("http://platform:1/sign-in?token=")
        with signed_in(running, parse_qs(urlsplit(url).query)["token"][0]) as browser:
            assert browser.get("/api/v1/me").json()["role"] == "owner"


def test_a_new_bootstrap_key_replaces_the_old_one(database_url: str, tmp_path: Path) -> None:
    with Backend(database_url, tmp_path) as first:
        assert first.api.get("/me").status_code == 200
        with signed_in(first):
            pass
    with Backend(database_url, tmp_path, bootstrap_api_key="rf-another-key") as second:
        assert second.api.get("/me").status_code == 401
        with second.client("rf-another-key", "/api/v1") as owner:
            assert owner.get("/me").json()["role"] == "owner"
