"""A process that plays people who watch: each holds the event stream of a job and asks for what its page shows.

    python -m fleet.viewers PLAN.json OUT.json

Every viewer asks once in `think` seconds, by a fixed lot: 60 % job reads (one in six the list), 20 % series (1,000
buckets), 10 % completions (the newest step, one in four a search), 10 % writes (a label on a completion); and looks at
a group of a recent step once in `group` seconds. Of its stream it checks that no event is missing.
"""

import http.client
import json
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

import orjson

from fleet.steps import PROMPTS
from fleet.wire import Wire


class Viewer:
    def __init__(self, plan: dict[str, Any], number: int) -> None:
        self._plan, self._chance = plan, random.Random(number)
        self._job = plan["jobs"][number % len(plan["jobs"])]
        self._wire = Wire(plan["url"], plan["key"])
        self._until = plan["begin"] + plan["seconds"]
        self._step = 0
        self.timings: list[tuple[str, float, float]] = []
        """What, and seconds."""
        self.last_seq, self.missing = 0, 0
        self.failure: str | None = None

    def watch(self) -> None:
        """Until the job's last event has come, or too long after the workers have stopped."""
        wire = Wire(self._plan["url"], self._plan["key"])
        try:
            reply = wire.stream(f"/api/v1/jobs/{self._job}/stream?after={self._plan['after'][self._job]}")
            self.last_seq = self._plan["after"][self._job]
            for line in reply:
                if line.startswith(b"data: "):
                    self._take(orjson.loads(line[6:]))
                if self._ended():
                    break
        except (OSError, http.client.HTTPException, RuntimeError, ValueError) as error:
            self.failure = f"stream: {type(error).__name__}: {error}"
        finally:
            wire.close()

    def _ended(self) -> bool:
        ends = Path(self._plan["ends"])
        if time.time() < self._until or not ends.exists():
            return False
        end_state = json.loads(ends.read_text())
        late = time.time() > end_state["at"] + self._plan["patience"]
        return bool(late or self.last_seq >= end_state["seq"][self._job])

    def _take(self, frame: dict[str, Any]) -> None:
        for event in frame["events"]:
            self.missing += event["seq"] != self.last_seq + 1
            self.last_seq = event["seq"]
            if event["type"] == "completions":
                self._step = event["data"]["step"]

    def ask(self) -> None:
        think, group = self._plan["think"], self._plan["group"]
        time.sleep(max(0.0, self._plan["begin"] - time.time()) + self._chance.random() * think)
        due, group_due = time.time(), time.time() + self._chance.random() * group
        try:
            while time.time() < self._until:
                if time.time() >= group_due and self._step:
                    group_due += group
                    prompt = self._chance.randrange(PROMPTS)
                    self._get("group", f"jobs/{self._job}/groups/train/{self._step}/{prompt}")
                self._mixed()
                due += think
                time.sleep(max(0.0, due - time.time()))
        except (OSError, http.client.HTTPException, RuntimeError, ValueError) as error:
            self.failure = f"{type(error).__name__}: {error}"
        finally:
            self._wire.close()

    def _mixed(self) -> None:
        lot, one_in = self._chance.random(), self._chance.randrange
        if lot < 0.6:
            self._get("job", "jobs?limit=20" if one_in(6) == 0 else f"jobs/{self._job}")
        elif lot < 0.8:
            self._get("series", f"jobs/{self._job}/metrics?buckets=1000")
        elif lot < 0.9:
            search = (
                f"jobs/{self._job}/completions/search?q={self._chance.choice(self._plan['words'])}&limit=50"
            )
            self._get("completions", search if one_in(4) == 0 else f"jobs/{self._job}/completions?limit=128")
        elif self._step:
            label = {"step": self._plan["first_step"], "prompt_no": one_in(4), "sample_no": 0, "right": True}
            body = json.dumps({"labels": [label]}).encode()
            seconds, status, response_body = self._wire.ask("POST", f"/api/v1/jobs/{self._job}/labels", body)
            if status != 200:
                raise RuntimeError(f"label: {status} {response_body[:300]!r}")
            self._note("write", seconds)

    def _get(self, what: str, path: str) -> None:
        seconds, status, body = self._wire.ask("GET", f"/api/v1/{path}")
        if status != 200:
            raise RuntimeError(f"{path}: {status} {body[:300]!r}")
        self._note(what, seconds)

    def _note(self, what: str, seconds: float) -> None:
        """What was asked, when the answer was there (seconds since the begin), and how long it took."""
        self.timings.append((what, round(time.time() - self._plan["begin"], 3), seconds))


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    viewers = [Viewer(plan, number) for number in range(plan["viewers"])]
    threads = [threading.Thread(target=part) for viewer in viewers for part in (viewer.watch, viewer.ask)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result = {
        "asked": [pair for viewer in viewers for pair in viewer.timings],
        "missing": sum(viewer.missing for viewer in viewers),
        "seen": [[viewer._job, viewer.last_seq] for viewer in viewers],
        "failures": [viewer.failure for viewer in viewers if viewer.failure],
        "cpu": time.process_time(),
    }
    Path(sys.argv[2]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
