"""A stub judge behind OpenAI's chat completions that likes quick answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def opinion(completion: str) -> float:
    return max(0.0, 1 - len(completion) / 60)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = str(body["messages"][-1]["content"]).rpartition("Completion: ")[2]
        steps = [{"description": "style", "conclusion": "to the point"}]
        content = json.dumps({"steps": steps, "result": opinion(text)})
        message = {"role": "assistant", "content": content}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        usage = {"prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50}
        reply = json.dumps({"id": "stub", "choices": choices, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *values: object) -> None:
        pass


@contextmanager
def serve(port: int) -> Iterator[int]:
    """Raises OSError where another program has the port."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
