"""Stub of the backend: records its environment and serves what the platform waits for."""

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from backend.start_record import record_start

home = Path(os.environ["REINFORGE_HOME"])


class Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        names = {path.name for path in (home / "seen").iterdir()}
        parts = {name: {"ready": name in names} for name in ("worker", "calls")}
        parts |= {name: {"ready": True} for name in ("database", "storage", "broker")}
        body = json.dumps({"ready": True, "parts": parts}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


role = sys.argv[1]
record_start(role)
if role == "migrate":
    if "STUB_MIGRATE_FAILS" in os.environ:
        sys.exit("column price is in the way")
elif role == "api":
    (home / "sign-in-url").write_text(os.environ["REINFORGE_URL"] + "/sign-in#once\n")
    server = ThreadingHTTPServer((sys.argv[3], int(sys.argv[5])), Api)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()
else:
    signal.pause()
