"""Whole jobs through `reinforge train`, sampled by vLLM: the reward rises, and a killed server costs time alone."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from tests.support.supervised import wait_for
from worker.machine.settings import VLLM_SERVERS, VLLM_SLEEP
from worker.machine.vllm_python import VARIABLE

Record = dict[str, Any]
EXAMPLE = Path(__file__).parents[4] / "examples" / "arithmetic"
TOOLS_EXAMPLE = EXAMPLE.parent / "calculator-agent"
STEPS = 12
KILLED_STEPS, KILLED_AT = 4, 2
USER = """
def reply(messages, state):
    state["replies"] = state.get("replies", 0) + 1
    return "Are you sure?" if state["replies"] == 1 else None
"""


@dataclass(frozen=True)
class Job:
    status: int
    output: str
    folder: Path
    records: list[Record]

    def records_of(self, kind: str) -> list[Record]:
        return [record for record in self.records if record["kind"] == kind]


def job_file(folder: Path, **limits: Any) -> Path:
    raw = yaml.safe_load((EXAMPLE / "job.yaml").read_text())
    raw["rollout"]["engine"] = "vllm"
    raw["evaluation"]["every_steps"] = 0
    raw["limits"] = {"steps": STEPS, "checkpoint_every": STEPS} | limits
    raw["data"] |= {name: str(EXAMPLE / raw["data"][name]) for name in ("dataset", "held_out")}
    raw["rewards"][0]["path"] = str(EXAMPLE / "reward.py")
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


def start(folder: Path, job: Path, **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "reinforge.cli.main", "train", str(job), "--out", str(folder / "out")]
    with (folder / "output").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | environment)


def ended(process: subprocess.Popen[bytes], folder: Path) -> Job:
    status = process.wait()
    return Job(status, (folder / "output").read_text(), folder, records(folder))


def records(folder: Path) -> list[Record]:
    """The records of the job, without a last line that is not complete yet."""
    path = folder / "out" / "records.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def undisturbed(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder = tmp_path_factory.mktemp("undisturbed")
    return ended(start(folder, job_file(folder), **{VLLM_SLEEP: "on"}), folder)


@pytest.mark.vllm
@pytest.mark.timeout(1200)
def test_the_reward_rises_and_the_sampler_is_the_trainer(undisturbed: Job) -> None:
    assert undisturbed.status == 0, undisturbed.output[-3000:]
    before, after = (
        record["values"]["held_out/reward_mean"] for record in undisturbed.records_of("evaluated")
    )
    assert after > before + 0.1
    steps = [record["values"] for record in undisturbed.records_of("step_metrics")]
    assert len(steps) == STEPS
    assert all(values["sampler/gap_max"] < 1e-3 for values in steps)
    assert all(
        abs(values["sampler/weight_mean"] - 1) < 1e-3 for values in steps
    )  # weighed without being asked
    [started] = undisturbed.records_of("started")
    assert (started["facts"]["engine"], started["facts"]["versions"]["vllm"][:4]) == ("vllm", "0.32")
    messages = [record["message"] for record in undisturbed.records_of("log")]
    assert any(message.startswith("vLLM and the trainer agree about the policy") for message in messages)
    assert any(
        record["phase"] == "starting_engine" and record["total"] for record in undisturbed.records_of("phase")
    )
    out = undisturbed.folder / "out"
    assert (out / "adapter" / "adapter_model.safetensors").is_file()
    log = (out / "vllm.log").read_text()
    assert "Application startup complete" in log
    assert log.count("to fall asleep") == log.count("to wake up") == STEPS  # through every update
    assert not of_server(undisturbed.folder)


@pytest.mark.vllm
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_server_that_is_killed_while_it_samples_costs_time_alone(undisturbed: Job, tmp_path: Path) -> None:
    """The same rows in the same order as without; no step is reported twice, none is missing."""
    process = start(tmp_path, job_file(tmp_path, steps=KILLED_STEPS, checkpoint_every=KILLED_STEPS))

    def samples() -> bool:
        assert process.poll() is None, ended(process, tmp_path).output[-3000:]
        phases = [record for record in records(tmp_path) if record["kind"] == "phase"]
        return bool(phases) and (phases[-1]["phase"], phases[-1]["step"]) == ("generating", KILLED_AT)

    try:
        wait_for(samples, 600)
        killed = of_server(tmp_path)
        assert killed
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        job = ended(process, tmp_path)
    finally:
        process.kill()
    assert job.status == 0, job.output[-3000:]
    assert any("is restarted once" in record["message"] for record in job.records_of("log"))
    assert [record["step"] for record in job.records_of("step_metrics")] == [*range(1, KILLED_STEPS + 1)]
    assert rows(job, "train") == rows(undisturbed, "train")[:KILLED_STEPS]
    assert [step for step, _ in rows(job, "held_out")] == [0, KILLED_STEPS]
    assert rows(job, "held_out")[0] == rows(undisturbed, "held_out")[0]
    assert not of_server(tmp_path)


def tools_job(folder: Path, **limits: Any) -> Path:
    raw = yaml.safe_load((TOOLS_EXAMPLE / "job.yaml").read_text())
    for name in ("dataset", "held_out"):
        raw["data"][name] = str(TOOLS_EXAMPLE / raw["data"][name])
    raw["environment"]["sources"][0]["python"] = str(TOOLS_EXAMPLE / "tools.py")
    (folder / "user.py").write_text(USER)
    raw["environment"]["reply"] = {"python": str(folder / "user.py")}
    raw["rewards"][0]["path"] = str(TOOLS_EXAMPLE / "reward.py")
    raw["rollout"] |= {"engine": "vllm", "prompts_per_step": 4}
    raw["evaluation"] = {"every_steps": 0, "rows": 0}
    raw["limits"] = {"steps": 2, "checkpoint_every": 2} | limits
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


@pytest.mark.vllm
@pytest.mark.timeout(1200)
def test_conversations_with_tools_and_a_simulated_user_are_sampled(tmp_path: Path) -> None:
    job = ended(start(tmp_path, tools_job(tmp_path)), tmp_path)
    assert job.status == 0, job.output[-3000:]
    steps = [record["values"] for record in job.records_of("step_metrics")]
    assert all(values["rollout/turns_mean"] > 1 for values in steps)
    assert all(values["sampler/gap_max"] < 1e-3 for values in steps)  # in every turn
    [started] = job.records_of("started")
    assert started["facts"]["engine"] == "vllm"
    objects = [job.folder / "out" / "blobs" / r["blob"]["sha256"] for r in job.records_of("rollouts")]
    roles = Counter(role for file in objects for role in roles_of(file))
    assert roles["tool"] > 0 and roles["user"] > 0


@pytest.mark.vllm
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_job_of_two_servers_survives_the_death_of_one(tmp_path: Path) -> None:
    """With conversations, which go on on the other server."""
    job_path = tools_job(
        tmp_path, steps=4, checkpoint_every=4
    )  # both servers have sampled an update in step 2
    process = start(tmp_path, job_path, **{VLLM_SERVERS: "2"})

    def samples() -> bool:
        assert process.poll() is None, ended(process, tmp_path).output[-3000:]
        return [r["step"] for r in records(tmp_path) if r["kind"] == "step_metrics"][1:] != []

    try:
        wait_for(samples, 900)
        killed = of_server(tmp_path, "vllm-2.log")
        assert killed and of_server(tmp_path)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        job = ended(process, tmp_path)
    finally:
        process.kill()
    assert job.status == 0, job.output[-3000:]
    steps = job.records_of("step_metrics")
    assert [record["step"] for record in steps] == [1, 2, 3, 4]
    assert all(record["values"]["sampler/gap_max"] < 1e-3 for record in steps)
    messages = [record["message"] for record in job.records_of("log")]
    assert any(message.startswith("vLLM server 2 of 2 failed (") for message in messages)
    assert not any(message.startswith("vLLM server 1 of 2 failed") for message in messages)
    for number in (1, 2):
        assert any(
            message.startswith(f"vLLM server {number}: vLLM and the trainer agree") for message in messages
        )
    assert not of_server(tmp_path) and not of_server(tmp_path, "vllm-2.log")


def roles_of(file: Path) -> list[str]:
    """Authors of all messages behind the prompts; what the policy did not write is masked."""
    roles = []
    for row in pq.read_table(file).to_pylist():
        sampled = [range(turn["start"], turn["end"]) for turn in json.loads(row["turns"])]
        assert [place for place, by_policy in enumerate(row["mask"]) if by_policy] == [*chain(*sampled)]
        roles += [message["role"] for message in json.loads(row["messages"])]
    return roles


def rows(job: Job, split: str) -> list[tuple[int, list[tuple[int, int, str]]]]:
    """Steps and the places of their completions with their prompts, in the order of their records."""
    return [
        (record["step"], [(row["prompt_no"], row["sample_no"], row["prompt_hash"]) for row in record["rows"]])
        for record in job.records_of("rollouts")
        if record["split"] == split
    ]


def of_server(folder: Path, log: str = "vllm.log") -> list[int]:
    """Processes of vLLM's that have this job's log open."""
    pids = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            logs = [str(link.readlink()) for link in (process / "fd").iterdir()]
        except OSError:
            continue
        if str(folder / "out" / log) in logs:
            pids.append(int(process.name))
    return pids


@pytest.mark.long
def test_a_worker_without_vllm_says_so_before_it_loads_anything(tmp_path: Path) -> None:
    job = ended(start(tmp_path, job_file(tmp_path), **{VARIABLE: "/nowhere/python"}), tmp_path)
    assert job.status != 0
    end = job.records[-1]
    assert (end["outcome"], end["reason"]) == ("paused", "engine_missing")
    assert "/nowhere/python" in end["message"] and "make vllm" in end["hint"]
    assert [record["kind"] for record in job.records] == ["phase", "ended"]
