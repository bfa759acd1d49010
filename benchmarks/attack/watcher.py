"""A process that plays people of a good project: pages that show its job, and an editor of rewards.

    python -m attack.watcher PLAN.json OUT.json

Each page holds the job's live stream, of which no event may be missing, and asks for the job, its curves, the newest
completions and the list of jobs, each once in `every` seconds. It ends when its standard input does, and tells of every
request when it began, how long it took and whether it failed.
"""

import http.client
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleet.wire import Wire

CHECK = json.dumps({"source": "def grade(sample, item):\n    return 1.0\n"}).encode()


class Watcher:
    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._job = plan["job"]
        self._done = threading.Event()
        self.requests: list[tuple[str, float, float, str | None]] = []
        """Kind, when it began, seconds, and how it failed."""
        self.missing, self.events = 0, 0

    def run(self) -> None:
        parts: list[Callable[[], None]] = []
        if self._plan["check"]:
            parts.append(self._edit)
        for number in range(self._plan["pages"]):
            parts += [self._watch, lambda number=number: self._page(number)]
        threads = [threading.Thread(target=part, daemon=True) for part in parts]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        self._done.set()
        for thread in threads:
            thread.join(10)  # a stream may be silent

    def _edit(self) -> None:
        self._repeat([("check", "POST", "/api/v1/rewards/check", CHECK)], self._plan["check"])

    def _page(self, number: int) -> None:
        job = f"/api/v1/jobs/{self._job}"
        requests = [
            ("job", "GET", job, None),
            ("metrics", "GET", f"{job}/metrics?buckets=1500", None),
            ("completions", "GET", f"{job}/completions?limit=128", None),
            ("jobs", "GET", "/api/v1/jobs?limit=50", None),
        ]
        every = self._plan["every"]
        self._done.wait(every * number / self._plan["pages"])
        self._repeat(requests, every / len(requests))

    def _repeat(self, requests: list[tuple[str, str, str, bytes | None]], pause: float) -> None:
        wire, due, at = Wire(self._plan["url"], self._plan["key"]), time.monotonic(), 0
        while not self._done.is_set():
            self._ask(wire, *requests[at % len(requests)])
            at += 1
            due = max(due + pause, time.monotonic() - pause)  # who waits for an answer asks nothing meanwhile
            self._done.wait(max(0.0, due - time.monotonic()))
        wire.close()

    def _ask(self, wire: Wire, kind: str, method: str, path: str, body: bytes | None) -> None:
        began, started, failure = time.time(), time.perf_counter(), None
        try:
            _, status, content = wire.ask(method, path, body)
            if status != 200:
                failure = f"{status} {content[:200].decode(errors='replace')}"
        except (OSError, http.client.HTTPException) as error:
            failure = f"{type(error).__name__}: {error}"
            wire.close()
        self._note(kind, began, time.perf_counter() - started, failure)

    def _watch(self) -> None:
        """Of the stream: how long it took to open, that it does not break, and that no event is missing."""
        wire, began, started = (
            Wire(self._plan["url"], self._plan["key"], timeout=40.0),
            time.time(),
            time.perf_counter(),
        )
        try:
            reply = wire.stream(f"/api/v1/jobs/{self._job}/stream")
            self._note(
                "stream",
                began,
                time.perf_counter() - started,
                None if reply.status == 200 else str(reply.status),
            )
            last_seq = 0
            for line in reply:
                if line.startswith(b"data: "):
                    for event in json.loads(line[6:])["events"]:
                        self.missing += event["seq"] != last_seq + 1
                        self.events, last_seq = self.events + 1, event["seq"]
                if self._done.is_set():
                    return
        except (OSError, http.client.HTTPException) as error:
            if not self._done.is_set():
                self._note("stream", time.time(), 0.0, f"{type(error).__name__}: {error}")
        finally:
            wire.close()

    def _note(self, kind: str, began: float, seconds: float, failure: str | None) -> None:
        self.requests.append((kind, began, seconds, failure))


def main() -> None:
    watcher = Watcher(json.loads(Path(sys.argv[1]).read_text()))
    watcher.run()
    result = {"asked": watcher.requests, "events": watcher.events, "missing": watcher.missing}
    Path(sys.argv[2]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
