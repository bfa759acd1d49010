"""Three jobs with a vLLM server each, in turn, and at once on one engine host: memory of the servers, and time.

    python benchmarks/shared_host.py [--json OUT] [--rounds 1]

Each job is `reinforge train` with the starter model. Memory is the sum of the proportional set sizes (PSS) of the
processes of all vLLM servers and engine hosts, at its highest; trainers are counted apart. The arms of a round follow
each other; where the machine has other work, load average and processor seconds say more than seconds.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import yaml
from common.measure import RESULTS, parser, stamp, table

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "arithmetic"
JOBS, STEPS = 3, 6
_LOOK_SECONDS = 1.0
_MIB = 2**20


class ServerMemory(threading.Thread):
    """Watches the processes whose command names vLLM or the engine host, below this benchmark's home."""

    def __init__(self, home: Path) -> None:
        super().__init__(daemon=True)
        self._home, self._ending = home, threading.Event()
        self.peak, self.trainers, self.processes = 0, 0, 0
        self.cpu: dict[tuple[str, int], float] = {}
        """Processor seconds by kind and process, as last seen."""

    def run(self) -> None:
        while not self._ending.wait(_LOOK_SECONDS):
            sizes = [entry for entry in map(self._size, psutil.process_iter()) if entry is not None]
            servers = [size for kind, size in sizes if kind == "server"]
            if sum(servers) > self.peak:
                self.peak, self.processes = sum(servers), len(servers)
            self.trainers = max(self.trainers, sum(size for kind, size in sizes if kind == "trainer"))

    def end(self) -> None:
        self._ending.set()
        self.join()

    def _size(self, process: psutil.Process) -> tuple[str, int] | None:
        try:
            if process.environ().get("REINFORGE_HOME") != str(self._home):
                return None
            words = " ".join(process.cmdline())
            server = "vllm" in words or "engine_host" in words or "VLLM" in words
            kind, times = "server" if server else "trainer", process.cpu_times()
            self.cpu[kind, process.pid] = times.user + times.system
            return kind, process.memory_full_info().pss
        except (psutil.Error, OSError):
            return None


def job_file(folder: Path, seed: int) -> Path:
    raw = yaml.safe_load((EXAMPLE / "job.yaml").read_text())
    raw["rollout"]["engine"] = "vllm"
    raw["evaluation"]["every_steps"] = 0
    raw["limits"] = {"steps": STEPS, "checkpoint_every": STEPS}
    raw["seed"] = seed
    raw["data"] |= {name: str(EXAMPLE / raw["data"][name]) for name in ("dataset", "held_out")}
    raw["rewards"][0]["path"] = str(EXAMPLE / "reward.py")
    folder.mkdir(parents=True)
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


def start(folder: Path, seed: int, home: Path, *, shared: bool) -> subprocess.Popen[bytes]:
    job = job_file(folder, seed)
    command = [sys.executable, "-m", "reinforge.cli.main", "train", str(job), "--out", str(folder / "out")]
    own = {
        "REINFORGE_HOME": str(home),
        "REINFORGE_VLLM_SHARED": "1" if shared else "0",
        "OMP_NUM_THREADS": "1",
    }
    own["REINFORGE_SERVING_IDLE_SECONDS"] = "3"
    with (folder / "output").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | own)


def run(folder: Path, home: Path, count: int, *, shared: bool, at_once: bool) -> dict[str, Any]:
    memory = ServerMemory(home)
    memory.start()
    load, began = os.getloadavg()[0], time.monotonic()
    running: list[subprocess.Popen[bytes]] = []
    for number in range(count):
        running.append(start(folder / str(number), number, home, shared=shared))
        if not at_once:
            running[-1].wait()
    status = [process.wait() for process in running]
    seconds = time.monotonic() - began
    memory.end()
    for number, code in enumerate(status):
        if code:
            sys.exit(
                f"job {number} ended with {code}:\n{(folder / str(number) / 'output').read_text()[-3000:]}"
            )
    time.sleep(8)  # an idle host ends
    return {
        "jobs": count,
        "shared": shared,
        "at_once": at_once,
        "seconds": round(seconds, 1),
        "servers_pss_mib": round(memory.peak / _MIB),
        "server_processes": memory.processes,
        "trainers_pss_mib": round(memory.trainers / _MIB),
        "servers_cpu_seconds": round(sum(s for (kind, _), s in memory.cpu.items() if kind == "server")),
        "trainers_cpu_seconds": round(sum(s for (kind, _), s in memory.cpu.items() if kind == "trainer")),
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
        "phases": [phases(folder / str(number) / "out" / "records.jsonl") for number in range(count)],
    }


def phases(path: Path) -> dict[str, Any]:
    """Seconds of a job by what it did."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    metrics = [record["values"] for record in records if record["kind"] == "step_metrics"]
    names = sorted({name for values in metrics for name in values if name.startswith("time/")})
    gaps = [values["sampler/gap_max"] for values in metrics if "sampler/gap_max" in values]
    total = {name: round(sum(values.get(name) or 0.0 for values in metrics), 1) for name in names}
    return total | {"steps": len(metrics), "gap_max": max(gaps, default=None)}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--json", type=Path, default=RESULTS / "shared_host.json")
    arguments = options.parse_args()
    rounds = []
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory(prefix="rf-shared-") as name:
            folder = Path(name)
            arms = {
                "own, in turn": run(folder / "a", folder / "home", JOBS, shared=False, at_once=False),
                "shared, at once": run(folder / "b", folder / "home", JOBS, shared=True, at_once=True),
                "shared, one": run(folder / "c", folder / "home", 1, shared=True, at_once=True),
            }
        rounds.append(arms)
        show(arms)
        result = stamp("reinforge", "torch") | {"steps": STEPS, "rounds": rounds}
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


def show(arms: dict[str, dict[str, Any]]) -> None:
    columns = (
        "seconds",
        "servers_pss_mib",
        "server_processes",
        "trainers_pss_mib",
        "servers_cpu_seconds",
        "trainers_cpu_seconds",
        "load",
    )
    rows = [[name, *(str(arm[column]) for column in columns)] for name, arm in arms.items()]
    table(("arm", *columns), rows)
    turn, shared, one = arms["own, in turn"], arms["shared, at once"], arms["shared, one"]
    print(f"sooner: {turn['seconds'] / shared['seconds']:.2f} x")
    print(
        f"memory of the server with three jobs: {shared['servers_pss_mib'] / one['servers_pss_mib']:.2f} x one"
    )


if __name__ == "__main__":
    main()
