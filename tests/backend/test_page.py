"""The page is served beside the API, which it never hides."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.page import STATIC
from tests.backend.server import Backend

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(backend: Backend) -> Iterator[Path]:
    folder = backend.home / "page"
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text("<!doctype html>the page")
    (folder / "assets" / "index-abc.js").write_text("script")
    (folder / "favicon.svg").write_text("<svg/>")
    yield folder
    (folder / "index.html").unlink()


@pytest.mark.parametrize("path", ["/", "/jobs/ftjob-x", "/sign-in?token=abc", "/new"])
def test_every_address_of_the_page_is_the_page(backend: Backend, page: Path, path: str) -> None:
    response = backend.bare.get(path)
    assert (response.status_code, response.text) == (200, "<!doctype html>the page")
    assert response.headers["cache-control"] == "no-cache"
    policy = dict(
        each.strip().split(" ", 1) for each in response.headers["content-security-policy"].split(";")
    )
    assert (policy["frame-ancestors"], policy["default-src"]) == ("'none'", "'self'")
    assert "script-src" not in policy, "scripts come from here alone, and none is inline"


def test_assets_are_kept_by_browsers(backend: Backend, page: Path) -> None:
    response = backend.bare.get("/assets/index-abc.js")
    assert (response.status_code, response.text) == (200, "script")
    assert "immutable" in response.headers["cache-control"]
    assert backend.bare.get("/favicon.svg").status_code == 200


def test_packed_copies_go_to_those_who_accept_them(backend: Backend, page: Path) -> None:
    (page / "assets" / "index-abc.js.gz").write_bytes(gzip.compress(b"script"))
    packed = backend.bare.get("/assets/index-abc.js", headers={"accept-encoding": "gzip, br"})
    assert (packed.text, packed.headers["content-encoding"]) == ("script", "gzip")
    assert packed.headers["content-type"].startswith("text/javascript")
    plain = backend.bare.get("/assets/index-abc.js", headers={"accept-encoding": "gzip;q=0"})
    assert (plain.text, "content-encoding" in plain.headers) == ("script", False)
    assert {packed.headers["vary"], plain.headers["vary"]} == {"accept-encoding"}


@pytest.mark.parametrize("path", ["/assets/gone.js", "/api/v1/nothing", "/worker/v1/nothing", "/v1/nothing"])
def test_what_is_not_there_is_not_the_page(backend: Backend, page: Path, path: str) -> None:
    response = backend.bare.get(path)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "unknown_path")


@pytest.mark.parametrize("path", ["/../sign-in-url", "/%2e%2e/server.txt", "/assets/..%2f..%2fserver.txt"])
def test_nothing_outside_the_page_is_served(backend: Backend, page: Path, path: str) -> None:
    (backend.home / "server.txt").write_text("secret")
    assert "secret" not in backend.bare.get(path).text


def test_a_page_that_was_not_built_says_so(backend: Backend) -> None:
    response = backend.bare.get("/")
    assert response.status_code == 503
    assert "make setup" in response.text


def test_a_checkout_serves_what_its_own_build_writes() -> None:
    assert STATIC == ROOT / "frontend" / "dist"
    assert 'outDir: "dist"' in (ROOT / "frontend" / "vite.config.ts").read_text()
