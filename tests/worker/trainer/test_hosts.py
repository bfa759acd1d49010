"""One job on two hosts by torchrun: two network namespaces with one link between them, which is cut."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import eventually

ARITHMETIC = Path(__file__).resolve().parents[3] / "examples" / "arithmetic"
TORCHRUN = Path(sys.executable).with_name("torchrun")
RANK_SECONDS = 15


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Hosts:
    """Namespaces `NAME-0` and `NAME-1` with the addresses 10.123.0.1 and 10.123.0.2."""

    def __init__(self) -> None:
        self.names = [f"rf{os.getpid()}-{number}" for number in (0, 1)]
        self.links = [f"rf{os.getpid()}v{number}" for number in (0, 1)]
        self.processes: list[subprocess.Popen[bytes]] = []

    def open(self) -> None:
        for name in self.names:
            ip("netns", "add", name)
        ip("link", "add", self.links[0], "type", "veth", "peer", "name", self.links[1])
        for number, (name, link) in enumerate(zip(self.names, self.links, strict=True)):
            ip("link", "set", link, "netns", name)
            ip("-n", name, "addr", "add", f"10.123.0.{number + 1}/24", "dev", link)
            for device in ("lo", link):
                ip("-n", name, "link", "set", device, "up")

    def cut(self) -> None:
        ip("-n", self.names[1], "link", "set", self.links[1], "down")

    def train(self, job: Path, out: Path) -> None:
        for number, (name, link) in enumerate(zip(self.names, self.links, strict=True)):
            command = [
                *("ip", "netns", "exec", name, str(TORCHRUN), "--nnodes", "2", "--node-rank", str(number)),
                *("--nproc-per-node", "1", "--master-addr", "10.123.0.1", "--master-port", "29500"),
                *("--no-python", sys.executable, "-m", "reinforge.cli.main", "train", str(job)),
                *("--out", str(out)),
            ]
            variables = {
                "GLOO_SOCKET_IFNAME": link,
                "OMP_NUM_THREADS": "1",
                "REINFORGE_RANK_SECONDS": str(RANK_SECONDS),
            }
            with (out.parent / f"host-{number}.log").open("wb") as log:
                self.processes.append(
                    subprocess.Popen(
                        command,
                        env=os.environ | variables,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )

    def close(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    two = Hosts()
    try:
        two.open()
    except (OSError, subprocess.CalledProcessError) as error:
        two.close()
        pytest.skip(f"no network namespaces here: {error}")
    try:
        yield two
    finally:
        two.close()


def job_file(folder: Path, steps: int) -> Path:
    spec = {
        "model": "starter-arith",
        "data": {"dataset": str(ARITHMETIC / "additions.jsonl"), "held_out_rows": 4},
        "rewards": [{"path": str(ARITHMETIC / "reward.py")}],
        "rollout": {"prompts_per_step": 2, "completions_per_prompt": 4, "max_completion_tokens": 32},
        "evaluation": {"every_steps": 0, "rows": 0},
        "limits": {"steps": steps},
        "devices_per_job": 2,
    }
    path = folder / "job.json"
    path.write_text(json.dumps(spec))
    return path


def records(out: Path) -> list[dict[str, Any]]:
    path = out / "records.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def logs(folder: Path) -> str:
    return "\n".join(path.read_text(errors="replace")[-3000:] for path in sorted(folder.glob("host-*.log")))


@pytest.mark.long
def test_two_hosts_train_one_job(hosts: Hosts, tmp_path: Path) -> None:
    out = tmp_path / "run"
    hosts.train(job_file(tmp_path, 3), out)
    assert [process.wait(120) for process in hosts.processes] == [0, 0], logs(tmp_path)
    ended = records(out)[-1]
    assert (ended["outcome"], ended["step"]) == ("succeeded", 3)
    assert (out / "adapter" / "adapter_model.safetensors").exists() and not out.with_name(
        "run-rank-1"
    ).exists()


@pytest.mark.long
def test_a_cut_link_ends_the_job_on_both_hosts(hosts: Hosts, tmp_path: Path) -> None:
    out = tmp_path / "run"
    hosts.train(job_file(tmp_path, 100_000), out)
    eventually(lambda: any(record["kind"] == "step_metrics" for record in records(out)), 120, "a first step")
    hosts.cut()
    begun = time.monotonic()
    statuses = [process.wait(120) for process in hosts.processes]
    assert 0 not in statuses and time.monotonic() - begun < 6 * RANK_SECONDS, logs(tmp_path)
    ended = records(out)[-1]
    assert (ended["kind"], ended["outcome"], ended["reason"]) == ("ended", "failed", "rank_lost"), logs(
        tmp_path
    )
    assert (out / "adapter" / "adapter_model.safetensors").exists(), "of the last whole step"
