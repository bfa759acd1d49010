"""The stub judge behind OpenAI's chat completions, for `job-judge.yaml`: python judge.py [PORT]."""

import json
import re
import runpy
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

grade = runpy.run_path(str(Path(__file__).with_name("reward.py")))["grade"]
MESSAGE = re.compile(r"Expected: (.*?)\nCompletion: (.*)", re.DOTALL)


class JudgeHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = "\n".join(str(message["content"]) for message in body["messages"])
        expected, completion = MESSAGE.search(text).groups()
        scored = grade({"output_text": completion}, {"answer": expected})
        steps = [{"description": "rubric", "conclusion": scored["reason"]}]
        content = json.dumps({"steps": steps, "result": scored["score"]})
        message = {"role": "assistant", "content": content}
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": len(content) // 4}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        reply = json.dumps({"id": "stub", "choices": choices, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8099
    server = ThreadingHTTPServer(("127.0.0.1", port), JudgeHandler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)  # noqa: T201
    server.serve_forever()
