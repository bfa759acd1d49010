"""A process that probes `/healthz`, and nothing else, so that no thread of its own delays it.

    python -m attack.prober PLAN.json OUT.json

plan: url, key, `probe` (seconds between two requests), `loop` (process whose first thread runs the server's event
loop). Of every request it reports when it began, how long it took, and what Linux says about that time: how long this
process was ready to run and had no processor (`probe_waited`), how long the event loop's thread had none
(`loop_waited`), and how long that thread ran (`loop_ran`). It ends when its standard input does.
"""

import gc
import http.client
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from fleet.wire import Wire

OWN = Path("/proc/thread-self/schedstat")


def ran_and_waited(schedstat: Path) -> tuple[float, float]:
    """Seconds for which a thread ran, and for which it was ready and had no processor."""
    try:
        ran, waited, _ = schedstat.read_text().split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran) / 1e9, int(waited) / 1e9


class Prober:
    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._loop = Path(f"/proc/{plan['loop']}/schedstat")
        self._done = threading.Event()
        self.requests: list[dict[str, Any]] = []

    def run(self) -> None:
        gc.disable()
        thread = threading.Thread(target=self._probe, daemon=True)
        thread.start()
        sys.stdin.read()
        self._done.set()
        thread.join(10)

    def _probe(self) -> None:
        wire, pause = Wire(self._plan["url"], self._plan["key"]), self._plan["probe"]
        due = time.monotonic()
        while not self._done.is_set():
            self.requests.append(self._request(wire))
            due = max(due + pause, time.monotonic() - pause)
            self._done.wait(max(0.0, due - time.monotonic()))
        wire.close()

    def _request(self, wire: Wire) -> dict[str, Any]:
        failure = None
        (_, own_before), (ran_before, loop_before) = ran_and_waited(OWN), ran_and_waited(self._loop)
        began, started = time.time(), time.perf_counter()
        try:
            _, status, content = wire.ask("GET", "/healthz", None)
            if status != 200:
                failure = f"{status} {content[:200].decode(errors='replace')}"
        except (OSError, http.client.HTTPException) as error:
            failure = f"{type(error).__name__}: {error}"
            wire.close()
        seconds = time.perf_counter() - started
        (_, own), (ran, loop) = ran_and_waited(OWN), ran_and_waited(self._loop)
        return {
            "began": began,
            "seconds": seconds,
            "failure": failure,
            "probe_waited": own - own_before,
            "loop_waited": loop - loop_before,
            "loop_ran": ran - ran_before,
        }


def main() -> None:
    prober = Prober(json.loads(Path(sys.argv[1]).read_text()))
    prober.run()
    Path(sys.argv[2]).write_text(json.dumps({"requests": prober.requests}))


if __name__ == "__main__":
    main()
