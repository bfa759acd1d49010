"""Base images are pinned by the digests that their registry names, or not at all."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from scripts.pin_images import DEFAULTS, ROOT, NoDigest, address, base_images, digest, main, with_lines

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
        elif self.path in ("/v2/library/python/manifests/3.12-slim", "/v2/library/python/manifests/amd64"):
            kind = "manifest" if self.path.endswith("amd64") else "index"
            self.send_response(200 if "image.index" in self.headers["accept"] else 404)
            self.send_header("docker-content-digest", DIGEST)
            self.send_header("content-type", f"application/vnd.oci.image.{kind}.v1+json")
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
        assert digest(client, f"{registry}/library/python:3.12-slim", index=True) == DIGEST


def test_a_tag_of_one_architecture_is_no_default(registry: str) -> None:
    with httpx.Client() as client:
        assert digest(client, f"{registry}/library/python:amd64") == DIGEST
        with pytest.raises(NoDigest, match="one architecture"):
            digest(client, f"{registry}/library/python:amd64", index=True)


def test_a_tag_that_is_not_there_has_none(registry: str) -> None:
    with httpx.Client() as client, pytest.raises(NoDigest, match="404"):
        digest(client, f"{registry}/library/python:4")


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


def checkout(folder: Path, registry: str) -> Path:
    """What `--defaults` edits, with the one image that the registry has."""
    old = f"{registry}/library/python:3.12-slim@sha256:" + "0" * 64
    (folder / "Dockerfile").write_text(f"ARG PYTHON_IMAGE={old}\nFROM ${{PYTHON_IMAGE}} AS base\n")
    (folder / "docker-compose.yml").write_text(f"args:\n  PYTHON_IMAGE: ${{PYTHON_IMAGE:-{old}}}\n")
    (folder / ".env.example").write_text(f"#PYTHON_IMAGE={old}\n#OTHER=x\n")
    return folder


def test_new_defaults_are_written_into_every_file(registry: str, tmp_path: Path) -> None:
    main(["--defaults"], checkout(tmp_path, registry))
    new = f"{registry}/library/python:3.12-slim@{DIGEST}"
    assert (tmp_path / "Dockerfile").read_text() == (
        f"ARG PYTHON_IMAGE={new}\nFROM ${{PYTHON_IMAGE}} AS base\n"
    )
    assert f"PYTHON_IMAGE: ${{PYTHON_IMAGE:-{new}}}\n" in (tmp_path / "docker-compose.yml").read_text()
    assert (tmp_path / ".env.example").read_text() == f"#PYTHON_IMAGE={new}\n#OTHER=x\n"


def test_no_default_is_written_unless_all_are(registry: str, tmp_path: Path) -> None:
    folder = checkout(tmp_path, registry)
    with (folder / ".env.example").open("a") as file:
        file.write(f"#REDIS_IMAGE={registry}/library/redis:8\n")
    before = [(folder / name).read_text() for name in DEFAULTS]
    with pytest.raises(SystemExit, match="unchanged"):
        main(["--defaults"], folder)
    assert [(folder / name).read_text() for name in DEFAULTS] == before


def test_every_base_image_of_the_checkout_has_one_digest() -> None:
    for name, image in base_images().items():
        texts = [(ROOT / file).read_text() for file in DEFAULTS]
        digests = {
            digest for text in texts for digest in re.findall(rf"{image}@(sha256:[0-9a-f]{{64}})", text)
        }
        assert len(digests) == 1, (name, digests)
        assert not [text for text in texts if re.search(rf"(=|:-){image}(?!@)", text)], name
