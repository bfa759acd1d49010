"""MLflow's REST API in memory, for tests: stores what it is sent, doubles included, and loses answers on request."""

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl


@dataclass
class StoredRun:
    id: str
    experiment: str
    tags: dict[str, str]
    status: str = "RUNNING"
    params: dict[str, str] = field(default_factory=dict)
    metrics: list[dict[str, Any]] = field(default_factory=list)

    def points(self, key: str) -> list[tuple[int, float]]:
        return [(metric["step"], metric["value"]) for metric in self.metrics if metric["key"] == key]


class MlflowStub:
    """`lost`: paths whose next request is carried out and not answered. `hang`: seconds before metrics are answered."""

    def __init__(self) -> None:
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, StoredRun] = {}
        self.authorizations: set[str | None] = set()
        self.lost: list[str] = []
        self.refusal: int | None = None
        self.message = "not for you"
        self.odd: Any = None
        """Answer to everything, if not None."""
        self.hang = 0.0
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                path, _, query = self.path.partition("?")
                path = path.removeprefix("/base/api/2.0/mlflow/")
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                content = json.loads(body) if body else dict(parse_qsl(query))
                stub.authorizations.add(self.headers.get("authorization"))
                status, reply = stub.carry_out(path, content)
                if path == "runs/log-batch" and content.get("metrics"):
                    time.sleep(stub.hang)
                if path in stub.lost:
                    stub.lost.remove(path)
                    self.close_connection = True
                    self.connection.close()
                    return
                payload = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/base"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def run(self) -> StoredRun:
        [run] = self.runs.values()
        return run

    def carry_out(self, path: str, content: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.refusal is not None:
            return self.refusal, {"error_code": "PERMISSION_DENIED", "message": self.message}
        if self.odd is not None:
            return 200, self.odd
        match path:
            case "experiments/get-by-name":
                id = self.experiments.get(content["experiment_name"])
                missing = {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no experiment"}
                return (200, {"experiment": {"experiment_id": id}}) if id else (404, missing)
            case "experiments/create":
                self.experiments[content["name"]] = str(len(self.experiments) + 1)
                return 200, {"experiment_id": self.experiments[content["name"]]}
            case "runs/search":
                export = content["filter"].rpartition("= '")[2].rstrip("'")
                candidates = [
                    run for run in self.runs.values() if run.experiment in content["experiment_ids"]
                ]
                matching = [run for run in candidates if run.tags["reinforge.export"] == export]
                return 200, {"runs": [self.view(run) for run in matching]} if matching else {}
            case "runs/create":
                tags = {tag["key"]: tag["value"] for tag in content["tags"]}
                run = StoredRun(f"run{len(self.runs)}", content["experiment_id"], tags)
                self.runs[run.id] = run
                return 200, {"run": self.view(run)}
            case "runs/get":
                return 200, {"run": self.view(self.runs[content["run_id"]])}
            case "runs/update":
                self.runs[content["run_id"]].status = content["status"]
                return 200, {}
            case "runs/log-batch":
                return self.log(self.runs[content["run_id"]], content)
        return 404, {"error_code": "ENDPOINT_NOT_FOUND"}

    def log(self, run: StoredRun, content: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        for param in content.get("params", []):
            if run.params.setdefault(param["key"], param["value"]) != param["value"]:
                return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "changed"}
        run.tags |= {tag["key"]: tag["value"] for tag in content.get("tags", [])}
        run.metrics += content.get("metrics", [])
        return 200, {}

    def view(self, run: StoredRun) -> dict[str, Any]:
        newest = {metric["key"]: metric for metric in sorted(run.metrics, key=lambda one: one["step"])}
        return {"info": {"run_id": run.id}, "data": {"metrics": list(newest.values())}}
