"""Stub of the hub's HTTP API, as far as `huggingface_hub` needs it to download a model.

GET  /api/models/{repo}[/revision/{rev}]          its commit
GET  /api/models/{repo}/tree/{commit}             its files with sizes
HEAD, GET /{repo}/resolve/{commit}/{file}         with ETag, X-Repo-Commit and ranges
"""

import hashlib
import json
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Repository:
    files: dict[str, bytes]
    commit: str = COMMIT
    token: str | None = None
    """Requests without it get 401 (`gated`: 403 for the files only)."""
    gated: bool = False
    cut: dict[str, int] = field(default_factory=dict)
    """File → number of bytes after which its next download ends."""
    hold: threading.Event | None = None
    """Downloads of weights wait for this event after their first half."""


class HubStub:
    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.requests: list[tuple[str, str, str | None]] = []
        """Method, path, Range."""
        self.away = False
        stub = self

        class Handler(_Handler):
            hub = stub

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def downloads(self) -> list[tuple[str, str | None]]:
        """(file, Range) of every GET of a file."""
        return [
            (path.rpartition("/")[2], range_header)
            for method, path, range_header in self.requests
            if method == "GET" and "/resolve/" in path
        ]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may disconnect at any time; tracebacks would end up in the output that a test reads."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: HubStub

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((self.command, path, self.headers.get("range")))
        if self.hub.away:
            return self._send(503, b"")
        parts = path.strip("/").split("/")
        api = parts[:2] == ["api", "models"]
        name = "/".join(parts[2:4] if api else parts[:2])
        rest = parts[4:] if api else parts[2:]
        repository = self.hub.repositories.get(name)
        allowed = repository is not None and (
            repository.token is None or self.headers.get("authorization") == f"Bearer {repository.token}"
        )
        if repository is None or (not allowed and not repository.gated):
            return self._send(401, b'{"error": "not found"}', {"X-Error-Code": "RepoNotFound"})
        if not allowed and not (api and rest[:1] in ([], ["revision"])):
            return self._send(403, b'{"error": "gated"}', {"X-Error-Code": "GatedRepo"})
        revision = rest[1] if len(rest) > 1 else "main"
        if revision not in ("main", "v1", repository.commit):
            return self._send(404, b'{"error": "no revision"}', {"X-Error-Code": "RevisionNotFound"})
        if not api:
            return self._file(repository, "/".join(rest[2:]))
        if rest[:1] == ["tree"]:
            listed = [
                {"type": "file", "path": file, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for file, data in repository.files.items()
            ]
            return self._json(listed)
        siblings = [{"rfilename": file} for file in repository.files]
        return self._json(
            {"id": name, "modelId": name, "sha": repository.commit, "siblings": siblings, "tags": []}
        )

    def _file(self, repository: Repository, name: str) -> None:
        data = repository.files.get(name)
        if data is None:
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
        headers = {
            "ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": repository.commit,
            "Accept-Ranges": "bytes",
        }  # fmt: skip
        range_header = self.headers.get("range")
        start = int(range_header.removeprefix("bytes=").split("-")[0]) if range_header else 0
        if range_header:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        body = data[start:]
        if self.command == "HEAD":
            return self._send(200, data, headers, body_too=False)
        cut = repository.cut.pop(name, None)
        if cut is not None:
            self._send(206 if range_header else 200, body, headers, body_too=False)
            self.wfile.write(body[:cut])
            self.wfile.flush()
            self.connection.close()
            self.close_connection = True
            return None
        if repository.hold is not None and name.endswith(".safetensors"):
            self._send(206 if range_header else 200, body, headers, body_too=False)
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            repository.hold.wait(30)
            self.wfile.write(body[len(body) // 2 :])
            return None
        return self._send(206 if range_header else 200, body, headers)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, *, body_too: bool = True
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if body_too and self.command != "HEAD":
            self.wfile.write(body)
