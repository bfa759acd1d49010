"""Base images are pinned by the digests that their registry names, or not at all."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from scripts.pin_images import NoDigest, address, base_images, digest, main, with_lines

DIGEST = "sha256:" + "5e" * 32


class Registry(BaseHTTPRequestHandler):
    """Speaks what a public registry speaks: a challenge, an anonymous token for one repository, a manifest's digest."""

    def do_HEAD(self) -> None:
        if self.headers.get("authorization") != "Bearer for-library/python":
            self.send_response(401)
            host = self.headers["host"]
            self.send_header(
                "www-authenticate",
                f'Bearer realm="http://{host}/token",service="registry",scope="repository:library/python:pull"',
            )
        elif self.path == "/v2/library/python/manifests/3.12-slim":
            self.send_response(200 if "image.index" in self.headers["accept"] else 404)
            self.send_header("docker-content-digest", DIGEST)
        else:
            self.send_response(404)
        self.end_headers()

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        body = b'{"token": "for-%s"}' % query["scope"][0].split(":")[1].encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_digest_of_a_tag(registry: str) -> None:
    with httpx.Client() as client:
        assert digest(client, f"{registry}/library/python:3.12-slim", scheme="http") == DIGEST


def test_a_tag_that_is_not_there_has_none(registry: str) -> None:
    with httpx.Client() as client, pytest.raises(NoDigest, match="404"):
        digest(client, f"{registry}/library/python:4", scheme="http")


def test_names_of_images() -> None:
    assert address("python:3.12-slim") == ("registry-1.docker.io", "library/python", "3.12-slim")
    assert address("grafana/loki") == ("registry-1.docker.io", "grafana/loki", "latest")
    assert address("localhost:5000/a/b:c") == ("localhost:5000", "a/b", "c")


def test_lines_of_an_env_file() -> None:
    text = "A_IMAGE=old\n#B_IMAGE=x\nSECRET=s\n"
    assert with_lines(text, {"A_IMAGE": "1", "B_IMAGE": "2", "C_IMAGE": "3"}) == (
        "A_IMAGE=1\nB_IMAGE=2\nSECRET=s\nC_IMAGE=3\n"
    )


def test_every_base_image_is_listed() -> None:
    assert base_images() == {
        "PYTHON_IMAGE": "python:3.12-slim",
        "NODE_IMAGE": "node:24-slim",
        "POSTGRES_IMAGE": "postgres:18",
        "REDIS_IMAGE": "redis:8",
    }


def test_a_registry_that_does_not_answer_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".env"
    file.write_text("SECRET=s\n")
    monkeypatch.setattr("scripts.pin_images.HUB", "127.0.0.1:1")
    with pytest.raises(SystemExit, match=r"did not answer.*unchanged"):
        main([str(file)])
    assert file.read_text() == "SECRET=s\n" and [path.name for path in tmp_path.iterdir()] == [".env"]
