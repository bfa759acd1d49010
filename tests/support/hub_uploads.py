"""The hub's HTTP API as far as `huggingface_hub` needs it to create a repository and commit files.

POST /api/repos/create                              a repository; 409 if it exists
POST /api/validate-yaml                             checks a card's metadata
POST /api/models/{repo}/preupload/{revision}        which files go to LFS: safetensors
POST /{repo}.git/info/lfs/objects/batch             where LFS objects go to
PUT  /lfs/{sha256}                                  an LFS object
POST /api/models/{repo}/commit/{revision}           a commit, as lines of JSON
"""

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import yaml

TOKEN = "hf_test"


class HubUploads:
    """`files`: repository → name → content of its last commit."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.objects: dict[str, bytes] = {}
        self.commits: list[dict[str, Any]] = []
        handler = type("Handler", (_UploadHandler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _UploadHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: HubUploads

    def log_message(self, *_: object) -> None:
        pass

    def do_PUT(self) -> None:
        content = self._content()
        sha256 = self.path.rpartition("/")[2]
        assert hashlib.sha256(content).hexdigest() == sha256
        self.hub.objects[sha256] = content
        self._send(200, {})

    def do_POST(self) -> None:
        content = self._content()
        if self.headers.get("authorization") != f"Bearer {TOKEN}" and "/lfs/" not in self.path:
            self._send(401, {"error": "Invalid credentials"})
            return
        parts = self.path.strip("/").split("/")
        if self.path == "/api/repos/create":
            self._create(json.loads(content))
        elif self.path == "/api/validate-yaml":
            metadata = yaml.safe_load(json.loads(content)["content"].split("---")[1])
            errors = [] if "base_model" in metadata else [{"message": "no base_model"}]
            self._send(400 if errors else 200, {"errors": errors, "warnings": []})
        elif parts[-3:] == ["lfs", "objects", "batch"]:
            self._batch(json.loads(content))
        elif parts[4:5] == ["preupload"]:
            files = json.loads(content)["files"]
            modes = [
                {"path": file["path"], "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                 "shouldIgnore": False}
                for file in files
            ]  # fmt: skip
            self._send(200, {"files": modes})
        elif parts[4:5] == ["commit"]:
            self._commit("/".join(parts[2:4]), parts[5], [json.loads(line) for line in content.splitlines()])
        else:
            self._send(404, {"error": f"no {self.path}"})

    def _create(self, body: dict[str, Any]) -> None:
        repository = "/".join(name for name in (body.get("organization"), body["name"]) if name)
        if repository.startswith("forbidden/"):
            self._send(403, {"error": "You don't have the rights to create a model under this namespace"})
            return
        exists = repository in self.hub.files
        if not exists:
            self.hub.files[repository] = {}
            self.hub.private[repository] = bool(body.get("private")) or body.get("visibility") == "private"
        self._send(409 if exists else 200, {"url": f"{self.hub.url}/{repository}"})

    def _batch(self, body: dict[str, Any]) -> None:
        objects = [
            {"oid": one["oid"], "size": one["size"], "authenticated": True,
             "actions": {"upload": {"href": f"{self.hub.url}/lfs/{one['oid']}"}}}
            for one in body["objects"]
        ]  # fmt: skip
        self._send(200, {"transfer": "basic", "objects": objects})

    def _commit(self, repository: str, revision: str, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                self.hub.files[repository][value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                self.hub.files[repository][value["path"]] = self.hub.objects[value["oid"]]
            else:
                self.hub.commits.append(value | {"revision": revision})
        oid = f"{len(self.hub.commits):040x}"
        url = f"{self.hub.url}/{repository}/commit/{oid}"
        self._send(200, {"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})

    def _content(self) -> bytes:
        if self.headers.get("transfer-encoding") == "chunked":
            content = b""
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return content
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _send(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
