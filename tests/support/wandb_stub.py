"""W&B's server as far as its library needs one to write runs: GraphQL and the stream of files, over TLS."""

import gzip
import json
import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.smtp_server import certificate


@dataclass
class WandbRun:
    upserts: list[dict[str, Any]] = field(default_factory=list)
    history: dict[int, str] = field(default_factory=dict)
    """Line number → JSON."""
    summary: dict[str, Any] = field(default_factory=dict)
    exit_codes: list[int] = field(default_factory=list)

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for _, line in sorted(self.history.items())]

    def variable(self, name: str) -> Any:
        return next((one[name] for one in reversed(self.upserts) if one.get(name) is not None), None)


class WandbStub:
    def __init__(self, folder: Path, host: str) -> None:
        self.runs: dict[str, WandbRun] = {}
        self.authorizations: set[str | None] = set()
        self.certificate, key = certificate(folder, host)
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                stub.authorizations.add(self.headers.get("authorization"))
                is_telemetry = self.path.startswith("/sdk/")
                reply = {} if is_telemetry else stub.carry_out(self.path, json.loads(body or b"{}"))
                payload = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate, key)
        self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def carry_out(self, path: str, content: dict[str, Any]) -> dict[str, Any]:
        if path.endswith("/file_stream"):
            return self.stream(self.runs[path.split("/")[-2]], content)
        variables = content.get("variables", {})
        match content.get("operationName"):
            case "RunResumeStatus":
                return {"data": {"model": self.project(self.resume(variables["name"]))}}
            case "UpsertBucket":
                run = self.runs.setdefault(variables["name"], WandbRun())
                run.upserts.append(variables)
                bucket = self.bucket(variables["name"], run) | {"project": self.project()}
                return {"data": {"upsertBucket": {"bucket": bucket, "inserted": len(run.upserts) == 1}}}
            case "CreateRunFiles":
                return {"data": {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": []}}}
        return {"data": {}}

    def stream(self, run: WandbRun, content: dict[str, Any]) -> dict[str, Any]:
        files = content.get("files") or {}
        if history := files.get("wandb-history.jsonl"):
            run.history |= {history["offset"] + n: line for n, line in enumerate(history["content"])}
        if summary := files.get("wandb-summary.json"):
            run.summary = json.loads(summary["content"][-1])
        if content.get("complete"):
            run.exit_codes.append(content.get("exitcode", 0))
        return {"exitcode": None, "limits": {}}

    def resume(self, name: str) -> dict[str, Any] | None:
        run = self.runs.get(name)
        return None if run is None else self.bucket(name, run)

    def project(self, bucket: dict[str, Any] | None = None) -> dict[str, Any]:
        entity = {"id": "e", "name": "team"}
        return {"id": "p", "name": "sums", "entity": entity, "bucket": bucket}

    def bucket(self, name: str, run: WandbRun) -> dict[str, Any]:
        tail = [line for _, line in sorted(run.history.items())[-1:]]
        return {
            "id": f"id-{name}",
            "name": name,
            "displayName": name,
            "description": None,
            "sweepName": None,
            "summaryMetrics": json.dumps(run.summary),
            "logLineCount": 0,
            "eventsLineCount": 0,
            "historyLineCount": len(run.history),
            "historyTail": json.dumps(tail),
            "eventsTail": "[]",
            "config": "{}",
            "tags": [],
            "notes": None,
            "wandbConfig": '{"t": 1}',
        }
