"""One trial: a job trains, people watch it, then strangers and a hostile member set about the platform.

    quiet → attack → settle (until memory no longer falls) → the job's end

The job trains in all phases. Everything is on loopback, and the processes end with whoever started them.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import httpx
from common.cpu import Account, children_of, machine_seconds, memory_of, own_memory, waited
from common.measure import ROOT

from attack.crowd import Crowd, answer, make_crowd, remove_crowd
from attack.report import report_of
from reinforge.platform.up import Platform

REWARD = """
def grade(sample, item):
    text = sample["output_text"]
    return float(str(item["answer"]) in text) + sum(map(ord, text)) % 97 / 97
"""
_ROLES = ("api", "background", "calls", "worker", "sandbox", "postgres")
_JOB_WITHIN = 180.0


@dataclass(frozen=True)
class Load:
    """quiet, attack: seconds of each phase. settle: the longest that memory gets to fall in.

    Requests of the attack end up to 15 s after it, a spare child of the API 10 s after its last request, and the full
    collections of the API's memory follow its last growth by 10 and 30 s.
    """

    preparing: float = 45.0
    """For which the job trains before the first phase, while the attackers get what they need."""
    quiet: float = 30.0
    attack: float = 60.0
    settle: float = 60.0
    clients: int = 200
    think: float = 1.0
    """Seconds that a stranger waits between two requests, on average."""
    streams: int = 300
    """Of the member."""
    pages: int = 4
    every: float = 4.0
    """Seconds in which a page asks for each of its parts once."""
    probe: float = 0.05
    """Seconds between two looks at `/healthz`: a 99th percentile needs hundreds of them in each phase."""
    check: float = 3.0
    """Seconds between two checks of a reward; 0: none."""


class Trial:
    def __init__(self, platform: Platform, key: str, load: Load) -> None:
        """key: an owner's, who runs the platform."""
        self._platform, self._key, self._load = platform, key, load
        headers = {"authorization": f"Bearer {key}"}
        self._api = httpx.Client(
            base_url=f"{platform.url}/api/v1", headers=headers, timeout=60, trust_env=False
        )

    def run(self) -> dict[str, Any]:
        """All its figures."""
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rf-hostile-")))
            stack.enter_context(self._api)
            job = self._start_job()  # first: it has the only worker, so that the member's own job waits
            crowd = make_crowd(self._api, self._platform.home / "own-models")
            stack.callback(remove_crowd, self._api, crowd)
            return self._phases(folder, crowd, job)

    def _phases(self, folder: Path, crowd: Crowd, job: str) -> dict[str, Any]:
        load, port = self._load, self._platform.port
        common = {"port": port, "clients": load.clients, "think": load.think}
        say(f"quiet for {load.quiet:g} s")
        with (
            player("watcher", self._watcher_plan(job), folder),
            player("prober", self._prober_plan(), folder),
        ):
            marks = [time.time()]
            quiet_steps, quiet_cpu = self._step(job), Account(self.pids())
            waits = [waited(self.pids())]
            time.sleep(load.quiet)
            marks.append(time.time())
            memory = {"before": self.memory()}
            waits.append(waited(self.pids()))
            attack_steps, cpu = self._step(job), Account(self.pids())
            machine = machine_seconds()
            quiet_seconds = quiet_cpu.seconds()
            say(f"attack for {load.attack:g} s")
            with (
                player("strangers", common, folder) as strangers,
                player("member", asdict(crowd) | {"port": port, "streams": load.streams}, folder) as member,
            ):
                attackers = Account({"strangers": strangers.pid, "member": member.pid})
                time.sleep(load.attack)
                marks.append(time.time())
                waits.append(waited(self.pids()))
                load_average = os.getloadavg()[0]
                spent = {"platform": cpu.seconds(), "attackers": attackers.seconds()}
                parts = sum(seconds for part in spent.values() for seconds in part.values())
                others = max(0.0, machine_seconds() - machine - parts)
                memory["attacked"] = self.memory()
            end_steps = self._step(job)
            say("the attack is over")
            memory["after"] = self._settled(memory["before"])
        say("waiting for the job's end")
        state = self._ended(job)
        outs = {
            name: json.loads((folder / f"{name}-out.json").read_text())
            for name in ("watcher", "prober", "strangers", "member")
        }
        phases = {
            "quiet": (marks[0], marks[1]),
            "attack": (marks[1], marks[2]),
            "after": (marks[2], time.time()),
        }
        return report_of(outs, phases) | {
            "load": asdict(load),
            "job": {
                "state": state,
                "steps": {"quiet": attack_steps - quiet_steps, "attack": end_steps - attack_steps},
            },
            "memory_mib": memory,
            "cpu_seconds": {"quiet": quiet_seconds, "attack": spent | {"others": round(others, 1)}},
            "api_waited_for_cpu_seconds": {
                "quiet": round(waits[1]["api"] - waits[0]["api"], 1),
                "attack": round(waits[2]["api"] - waits[1]["api"], 1),
            },
            "load_average_in_attack": round(load_average, 1),
        }

    def _watcher_plan(self, job: str) -> dict[str, Any]:
        load = self._load
        return {
            "url": self._platform.url, "key": self._key, "job": job, "pages": load.pages,
            "every": load.every, "check": load.check,
        }  # fmt: skip

    def _prober_plan(self) -> dict[str, Any]:
        [api] = children_of(self.pids()["api"])
        return {"url": self._platform.url, "key": self._key, "probe": self._load.probe, "loop": api}

    # ── the job ───────────────────────────────────────────────────────────────────────────────────────────

    def _start_job(self) -> str:
        """Create it and wait for its first step."""
        rows = "".join(
            json.dumps({"prompt": f"{n}+{n + 3}=", "answer": str(2 * n + 3)}) + "\n" for n in range(10, 40)
        )
        dataset = answer(self._api.post("/datasets", files={"file": ("sums.jsonl", rows.encode())}))["id"]
        load = self._load
        spec = {
            "name": "Watched under attack",
            "model": "starter-arith",
            "data": {"dataset": dataset, "held_out_rows": 4},
            "rewards": [{"type": "python", "name": "mixed", "source": REWARD, "timeout_seconds": 30}],
            "rollout": {"prompts_per_step": 4, "completions_per_prompt": 4, "max_completion_tokens": 24},
            "adapter": {"rank": 4},
            "limits": {
                "steps": 100_000,
                "checkpoint_every": 50,
                "max_seconds": load.preparing + load.quiet + load.attack + load.settle,
            },
        }
        job = str(answer(self._api.post("/jobs", json=spec))["id"])
        deadline = time.monotonic() + _JOB_WITHIN
        while self._step(job) < 1:
            if time.monotonic() > deadline:
                raise RuntimeError(f"The job does not begin: {self._api.get(f'/jobs/{job}').text[:500]}")
            time.sleep(0.2)
        return job

    def _step(self, job: str) -> int:
        return int(answer(self._api.get(f"/jobs/{job}"))["progress"]["step"])

    def _ended(self, job: str) -> str:
        deadline = time.monotonic() + _JOB_WITHIN
        while (status := str(answer(self._api.get(f"/jobs/{job}"))["status"])) not in (
            "succeeded",
            "failed",
            "cancelled",
        ):
            if time.monotonic() > deadline or status == "paused":
                break
            time.sleep(0.5)
        return status

    # ── processes ─────────────────────────────────────────────────────────────────────────────────────────

    def pids(self) -> dict[str, int]:
        pids = {}
        for name in _ROLES:
            with contextlib.suppress(OSError, ValueError):
                record = json.loads((self._platform.home / "run" / f"{name}.pid").read_text())
                pids[name] = int(record["keeper"]["pid"])
        return pids

    def memory(self) -> dict[str, float]:
        """MiB of each process with its children, and of the API without them; shared pages count by share."""
        pids = self.pids()
        [api] = children_of(pids["api"])
        return {
            name: round(size / 2**20, 1)
            for name, size in (memory_of(pids) | {"api_itself": own_memory(api)}).items()
        }

    def _settled(self, before: dict[str, float]) -> dict[str, float]:
        """Memory once it is what it was before, or as small as it gets within the time."""
        deadline = time.monotonic() + self._load.settle
        least = self.memory()
        while time.monotonic() < deadline and any(least[name] > mib * 1.05 for name, mib in before.items()):
            time.sleep(1.0)
            least = {name: min(mib, least[name]) for name, mib in self.memory().items()}
        return least


@contextlib.contextmanager
def player(name: str, plan: dict[str, Any], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of `attack`, until the end of the block: it ends when its standard input does."""
    plan_file, out = folder / f"{name}.json", folder / f"{name}-out.json"
    plan_file.write_text(json.dumps(plan))
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'benchmarks'}:{ROOT}"}
    command = [sys.executable, "-m", f"attack.{name}", str(plan_file), str(out)]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        stdin: IO[bytes] | None = process.stdin
        assert stdin is not None
        stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def say(sentence: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {sentence}", flush=True)
