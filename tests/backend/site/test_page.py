"""The page is served beside the API, which it never hides."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.site.page import _ROUTES, STATIC
from tests.backend.server import OWNER_KEY, WORKER_TOKEN, Backend

ROOT = Path(__file__).parents[3]


@pytest.fixture
def page(backend: Backend) -> Iterator[Path]:
    folder = backend.home / "page"
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text("<!doctype html>the page")
    (folder / "assets" / "index-abc.js").write_text("script")
    (folder / "favicon.svg").write_text("<svg/>")
    yield folder
    (folder / "index.html").unlink()


@pytest.mark.parametrize("path", ["/", "/jobs/ftjob-x", "/jobs/new", "/sign-in?token=abc", "/settings"])
def test_every_address_of_the_page_is_the_page(backend: Backend, page: Path, path: str) -> None:
    response = backend.bare.get(path)
    assert (response.status_code, response.text) == (200, "<!doctype html>the page")
    assert response.headers["cache-control"] == "no-cache"
    policy = dict(
        directive.strip().split(" ", 1)
        for directive in response.headers["content-security-policy"].split(";")
    )
    assert (policy["frame-ancestors"], policy["default-src"]) == ("'none'", "'self'")
    assert "script-src" not in policy, "scripts come from here alone, and none is inline"


def test_assets_are_cached_by_browsers(backend: Backend, page: Path) -> None:
    response = backend.bare.get("/assets/index-abc.js")
    assert (response.status_code, response.text) == (200, "script")
    assert "immutable" in response.headers["cache-control"]
    assert backend.bare.get("/favicon.svg").status_code == 200


def test_packed_copies_go_to_those_who_accept_them(backend: Backend, page: Path) -> None:
    (page / "assets" / "index-abc.js.gz").write_bytes(gzip.compress(b"script"))
    packed = backend.bare.get("/assets/index-abc.js", headers={"accept-encoding": "gzip, br"})
    assert (packed.text, packed.headers["content-encoding"]) == ("script", "gzip")
    assert packed.headers["content-type"].startswith("text/javascript")
    # Any bytes do: nothing here unpacks Brotli.
    (page / "assets" / "index-abc.js.br").write_bytes(b"packed by Brotli")
    for accepted, encoding in (("gzip, br", "br"), ("br", "br"), ("gzip, br;q=0", "gzip"), ("brotli", None)):
        with backend.bare.stream("GET", "/assets/index-abc.js", headers={"accept-encoding": accepted}) as one:
            assert one.headers.get("content-encoding") == encoding, accepted
            content = b"".join(one.iter_raw())
        assert (content == b"packed by Brotli") == (encoding == "br")
    plain = backend.bare.get("/assets/index-abc.js", headers={"accept-encoding": "gzip;q=0"})
    assert (plain.text, "content-encoding" in plain.headers) == ("script", False)
    assert {packed.headers["vary"], plain.headers["vary"]} == {"accept-encoding"}


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/nothing",
        "/API/v1/nothing",
        "/api/v2/jobs",
        "//api/v1/nothing",
        "/v1",
        "/v1/",
        "/v1/nothing",
        "/v1/engines/x",
        "/worker/v1/nothing",
        "/metrics",
        "/metrics/",
        "/health",
        "/livez",
    ],
)
def test_programs_never_get_the_page(backend: Backend, page: Path, path: str, method: str) -> None:
    """Not even one that says it takes HTML: a probe on the page's HTML cannot fail."""
    token = WORKER_TOKEN if path.startswith("/worker") else OWNER_KEY  # a stranger's change is a 401 there
    headers = {"accept": "text/html,*/*", "authorization": f"Bearer {token}"}
    response = backend.bare.request(method, backend.url + path, headers=headers)
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/json"
    if method != "HEAD":
        error = response.json()["error"]
        assert (error["code"], error["type"], error["param"]) == (
            "unknown_path",
            "invalid_request_error",
            None,
        )
        assert error["message"].startswith(f"There is nothing at {path}.")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/metrics", "Set REINFORGE_METRICS_TOKEN"),
        ("/health", "Ask /healthz"),
        ("/livez", "Ask /healthz"),
    ],
)
def test_probes_and_scrapers_get_the_right_address(backend: Backend, path: str, hint: str) -> None:
    assert backend.bare.get(path).json()["error"]["hint"].startswith(hint)


@pytest.mark.parametrize("path", ["/favicon.png", "/robots.txt", "/foo.js", "/assets/gone.js", "/jobs/x.js"])
def test_files_that_are_not_there_are_missing_for_browsers_too(
    backend: Backend, page: Path, path: str
) -> None:
    response = backend.bare.get(path, headers={"accept": "text/html,*/*"})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "unknown_path")


def test_an_unknown_address_is_the_page_with_status_404_for_browsers_alone(
    backend: Backend, page: Path
) -> None:
    page_response = backend.bare.get("/jbos", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (page_response.status_code, page_response.text) == (404, "<!doctype html>the page")
    refused = backend.bare.get("/jbos")
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "unknown_path")


def test_the_backend_knows_every_address_that_the_page_routes() -> None:
    routes = "".join(file.read_text() for file in (ROOT / "frontend/src/routes").glob("*.ts*"))
    assert {path.split("/")[1] for path in re.findall(r'path: "(/[^"]*)"', routes)} == _ROUTES


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


def test_the_reference_of_the_api_runs_no_script(backend: Backend) -> None:
    """It stands on the origin of the session cookie."""
    answer = backend.bare.get("/docs")
    assert answer.status_code == 200
    assert "/api/v1/jobs" in answer.text
    assert "<script" not in answer.text
    assert re.findall(r'(?:src|href)="([^"]*)"', answer.text) == ["/openapi.json"]
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", ["/api/v1/me", "/api/v1/nothing", "/v1/models", "/healthz", "/openapi.json"])
def test_answers_of_the_api_are_neither_stored_nor_framed(backend: Backend, path: str) -> None:
    for client in (backend.bare, backend.client(OWNER_KEY)):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
    refused = backend.bare.post("/api/v1/jobs", json={})
    assert refused.headers["cache-control"] == "no-store"


def test_no_redirect_names_a_foreign_host(backend: Backend) -> None:
    answer = backend.bare.get("/api/v1/keys/", headers={"host": "evil.test"})
    assert (answer.status_code, answer.headers.get("location")) == (404, None)
