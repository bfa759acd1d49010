"""HTTP server with scripted responses: route → list of responses, of which the last one repeats."""

import json
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class RecordedRequest:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    """Close the connection without an answer."""
    delay: float = 0.0
    """Seconds until it is answered."""


class StubServer:
    def __init__(self) -> None:
        self.routes: dict[tuple[str, str], list[Answer]] = defaultdict(list)
        self.requests: list[RecordedRequest] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                path, _, query = self.path.partition("?")
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                headers = {k.lower(): v for k, v in self.headers.items()}
                stub.requests.append(RecordedRequest(self.command, path, query, headers, body))
                scripted = stub.routes.get((self.command, path.removeprefix("/api/v1")))
                missing = Answer(404, {"error": {"message": f"no {path}", "code": "not_found"}})
                answer = (scripted.pop(0) if len(scripted) > 1 else scripted[0]) if scripted else missing
                time.sleep(answer.delay)
                if answer.drop:
                    self.close_connection = True
                    self.connection.close()
                    return
                payload = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {"content-length": str(len(payload)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def on(self, method: str, path: str, *answers: Answer) -> None:
        self.routes[(method, path)] = list(answers)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
