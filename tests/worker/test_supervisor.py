"""The supervisor with a toy trainer and a toy backend: what reaches the backend, and what is left when things end."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.schemas.worker_door import Claimed
from tests.support.worker_door import TOKEN, DoorServer
from worker.blob_cache import BlobCache
from worker.door import Door
from worker.models.sources import ModelStore
from worker.slots import end_leftover, process_start, take_slot
from worker.supervisor import Outcome, Supervisor

TOY = (sys.executable, str(Path(__file__).parents[1] / "support" / "toy_trainer.py"))
DATASET = b'{"prompt": "1+1=", "answer": "2"}\n'
REWARD = "def grade(sample, item):\n    return 1.0\n"


def wait_for(condition: Callable[[], Any], seconds: float = 20) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return value


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.fixture
def server() -> Iterator[DoorServer]:
    server = DoorServer()
    server.state.blobs[hashlib.sha256(DATASET).hexdigest()] = DATASET
    yield server
    server.stop()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


class Bench:
    """A supervisor on a folder, running one job in the test's thread or aside."""

    def __init__(self, home: Path, server: DoorServer, model: Path) -> None:
        self.home, self.server, self.model = home, server, model
        self.slot = take_slot(home / "workers", "trainer", "host.example")
        self.stop = threading.Event()
        self.outcome: Outcome | None = None
        door = Door(server.url, TOKEN)
        (home / "runs").mkdir()
        self.supervisor = Supervisor(
            door=door,
            slot=self.slot,
            runs=home / "runs",
            blobs=BlobCache(home / "cache", door.get_blob),
            models=ModelStore(home / "models"),
            sandbox_socket=home / "sandbox.sock",
            stop=self.stop,
            command=TOY,
            heartbeat_seconds=0.1,
        )

    def claimed(self, script: str, **changes: Any) -> Claimed:
        body = {
            "job": "ftjob-1",
            "attempt": 1,
            "job_token": "job-token",
            "spec": {"metadata": {"script": script}},
            "model_source": str(self.model),
            "model_sha256": None,
            "dataset": {"sha256": hashlib.sha256(DATASET).hexdigest(), "bytes": len(DATASET)},
            "dataset_format": "jsonl",
            "rewards": [{"name": "accuracy", "source": REWARD, "revision": "rew_1@3"}],
        }
        return Claimed.model_validate(body | changes)

    def run(self, script: str, **changes: Any) -> Outcome:
        return self.supervisor.run(self.claimed(script, **changes))

    def run_aside(self, script: str, **changes: Any) -> threading.Thread:
        def work() -> None:
            self.outcome = self.run(script, **changes)

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    @property
    def folder(self) -> Path:
        return self.home / "runs" / "ftjob-1" / "1"

    def trainer_pid(self) -> int:
        path = self.folder / "pid"
        return int(wait_for(lambda: path.exists() and path.read_text()))

    def kinds(self) -> list[str]:
        return [record["kind"] for record in self.server.state.records]

    def end(self) -> dict[str, Any]:
        return self.server.state.records[-1]


@pytest.fixture
def bench(tmp_path: Path, server: DoorServer, model: Path) -> Iterator[Bench]:
    home = tmp_path / "home"
    home.mkdir()
    yield Bench(home, server, model)


# ── A job from claim to end ───────────────────────────────────────────────────────────────────────────────


def test_all_records_arrive_in_order_with_their_blobs_before_them(bench: Bench) -> None:
    assert bench.run("metrics:3 blob metrics:2 blob end") is Outcome.DELIVERED

    state = bench.server.state
    assert [record["sequence"] for record in state.records] == list(range(1, 9))
    assert bench.kinds() == ["step_metrics"] * 3 + ["rollouts"] + ["step_metrics"] * 2 + ["rollouts", "ended"]
    blob = state.records[3]["blob"]["sha256"]
    assert state.order.index(f"blob {blob}") < state.order.index("record 4")
    assert hashlib.sha256(state.blobs[blob]).hexdigest() == blob
    assert not list((bench.folder / "blobs").iterdir()), "delivered blobs do not fill the worker's disk"


def test_the_trainer_finds_everything_local(bench: Bench, model: Path) -> None:
    bench.run("end")
    manifest = json.loads((bench.folder / "run.json").read_text())
    assert manifest["model_path"] == str(model)
    assert Path(manifest["dataset_path"]).read_bytes() == DATASET
    assert Path(manifest["dataset_path"]).suffix == ".jsonl"
    assert manifest["rewards"][0]["revision"] == "rew_1@3"
    assert Path(manifest["rewards"][0]["path"]).read_text() == REWARD


def test_the_trainer_gets_no_secrets(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "REINFORGE_WORKER_TOKEN",
        "DATABASE_URL",
        "REINFORGE_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "HF_TOKEN",
    ):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    bench.run("end")
    environment = json.loads((bench.folder / "environment.json").read_text())
    assert "secret" not in environment.values()
    assert environment["CUDA_VISIBLE_DEVICES"] == "1"
    assert environment["REINFORGE_RECORD_FD"] == "3"


def test_commands_reach_the_trainer_once_and_are_reported_as_applied(bench: Bench) -> None:
    thread = bench.run_aside("metrics:1 commands end")
    bench.trainer_pid()
    bench.server.state.commands.append({"id": "cmd_1", "kind": "pause"})
    thread.join(20)
    assert bench.outcome is Outcome.DELIVERED
    heard = json.loads(bench.server.state.records[1]["message"])
    assert heard == [{"id": "cmd_1", "kind": "pause"}]
    assert any("cmd_1" in beat["applied_commands"] for beat in bench.server.state.heartbeats)


def test_a_dataset_is_downloaded_once_for_all_jobs(bench: Bench) -> None:
    bench.run("end")
    bench.server.state.blobs.pop(hashlib.sha256(DATASET).hexdigest())
    bench.server.state.acknowledged = 0
    assert bench.run("end", attempt=2) is Outcome.DELIVERED
    assert bench.end()["outcome"] == "succeeded"


def test_uploads_follow_a_redirect_without_the_token(bench: Bench) -> None:
    bench.server.state.redirect_blobs_to = bench.server.url.replace("127.0.0.1", "localhost")
    assert bench.run("blob end") is Outcome.DELIVERED
    assert bench.kinds() == ["rollouts", "ended"]


# ── Bad days ──────────────────────────────────────────────────────────────────────────────────────────────


def test_no_record_is_lost_while_the_backend_is_away(bench: Bench) -> None:
    state = bench.server.state
    thread = bench.run_aside("metrics:5 blob commands metrics:300 blob end")
    wait_for(lambda: state.acknowledged >= 3)
    state.away = True
    # The trainer goes on meanwhile: all its records wait in the outbox.
    wait_for(lambda: (bench.folder / "records.jsonl").read_text().count("\n") >= 6)
    time.sleep(0.3)  # a few refused attempts
    state.commands.append({"id": "cmd_1", "kind": "checkpoint"})
    state.away = False
    thread.join(30)
    assert bench.outcome is Outcome.DELIVERED
    assert [record["sequence"] for record in state.records] == list(range(1, 310))


def test_a_backend_that_is_restarted_gets_every_record_once(bench: Bench) -> None:
    state, port = bench.server.state, bench.server.server_address[1]
    thread = bench.run_aside("metrics:2 commands metrics:50 end")
    wait_for(lambda: state.acknowledged >= 1)
    bench.server.stop()
    state.commands.append({"id": "cmd_1", "kind": "checkpoint"})
    again = DoorServer(port, state)
    try:
        thread.join(30)
    finally:
        again.stop()
    assert bench.outcome is Outcome.DELIVERED
    assert [record["sequence"] for record in state.records] == list(range(1, 55))


def test_a_lost_answer_sends_the_records_again(bench: Bench) -> None:
    bench.server.state.forget_acknowledgement = 2
    assert bench.run("metrics:3 end") is Outcome.DELIVERED
    assert [record["sequence"] for record in bench.server.state.records] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "script", ["metrics:1 child sleep", "ignore metrics:1 child sleep"], ids=["polite", "deaf"]
)
def test_a_lease_taken_by_another_ends_the_trainer_within_two_seconds(bench: Bench, script: str) -> None:
    thread = bench.run_aside(script)
    pid = bench.trainer_pid()
    wait_for(lambda: bench.server.state.acknowledged == 1)
    child = int(
        wait_for(lambda: (bench.folder / "child.pid").exists() and (bench.folder / "child.pid").read_text())
    )
    bench.server.state.lease_taken = True
    wait_for(lambda: not is_running(pid), seconds=2.5)  # half a second for the heartbeat to notice
    wait_for(lambda: not is_running(child))
    thread.join(10)
    assert bench.outcome is Outcome.LEASE_LOST
    assert bench.kinds() == ["step_metrics"], "an attempt that lost its lease writes nothing more"


def test_a_lease_that_runs_out_ends_the_trainer(bench: Bench) -> None:
    bench.server.state.lease_seconds = 0.6
    thread = bench.run_aside("metrics:1 sleep", lease_seconds=5.0)
    pid = bench.trainer_pid()
    wait_for(lambda: bench.server.state.acknowledged == 1)
    bench.server.state.away = True
    thread.join(20)
    assert bench.outcome is Outcome.LEASE_LOST
    assert not is_running(pid)


def test_three_refused_heartbeats_end_the_trainer(bench: Bench) -> None:
    bench.server.state.refuse_heartbeats = True
    assert bench.run("metrics:1 sleep") is Outcome.LEASE_LOST
    assert len(bench.server.state.heartbeats) == 3


def test_a_worker_that_goes_down_ends_its_trainer_and_says_nothing_about_the_job(bench: Bench) -> None:
    thread = bench.run_aside("metrics:1 sleep")
    pid = bench.trainer_pid()
    wait_for(lambda: bench.server.state.acknowledged == 1)
    bench.stop.set()
    thread.join(10)
    assert bench.outcome is Outcome.STOPPED
    assert not is_running(pid)
    assert bench.kinds() == ["step_metrics"]


def test_records_that_the_backend_refuses_end_the_job_with_that_reason(bench: Bench) -> None:
    bench.server.state.refuse_records = True
    assert bench.run("metrics:3 sleep") is Outcome.REFUSED
    assert bench.end()["reason"] == "record_refused"


# ── Why a trainer ended ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("script", "reason", "in_message"),
    [
        ("print:the_last_words exit:3", "trainer_crashed", "status 3"),
        ("print:the_last_words exit:0", "trainer_crashed", "status 0"),
        ("print:the_last_words kill:SIGSEGV", "trainer_crashed", "SIGSEGV"),
        ("print:the_last_words kill:SIGKILL", "killed", "SIGKILL"),
        (
            "print:the_last_words print:CUDA_out_of_memory._Tried_to_allocate exit:1",
            "out_of_memory",
            "memory",
        ),
        ("print:the_last_words print:OSError:_No_space_left_on_device exit:1", "disk_full", "disk"),
        ("print:the_last_words garbage", "trainer_protocol", "record"),
    ],
)
def test_a_trainer_that_crashes_is_explained_with_its_last_lines(
    bench: Bench, script: str, reason: str, in_message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.postmortem.memory_kills", lambda: 0)
    script = script.replace("print:OSError:_No", "print:OSError_No").replace(
        "print:the", "metrics:2 print:the"
    )
    assert bench.run(script) is Outcome.DELIVERED
    end = bench.end()
    assert (end["outcome"], end["reason"], end["step"], end["sequence"]) == ("failed", reason, 2, 3)
    assert in_message in end["message"]
    assert end["hint"]
    assert "the last words" in end["traceback"]


def test_a_trainer_killed_by_the_kernel_ran_out_of_memory(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter([4, 5])
    monkeypatch.setattr("worker.postmortem.memory_kills", lambda: next(counts))
    bench.run("kill:SIGKILL")
    assert bench.end()["reason"] == "out_of_memory"


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        ({"model_sha256": "0" * 64}, "failed", "model_changed"),
        ({"model_source": "/nowhere"}, "failed", "model_not_found"),
        ({"model_source": "builtin:other"}, "failed", "model_not_found"),
    ],
)
def test_a_job_that_cannot_be_prepared_ends_with_the_reason(
    bench: Bench, changes: dict[str, Any], outcome: str, reason: str
) -> None:
    assert bench.run("end", **changes) is Outcome.DELIVERED
    assert (bench.end()["outcome"], bench.end()["reason"]) == (outcome, reason)
    assert bench.end()["hint"]


def test_a_damaged_download_is_fetched_again(bench: Bench) -> None:
    bench.server.state.damage_blobs = 2
    assert bench.run("end") is Outcome.DELIVERED
    assert bench.end()["outcome"] == "succeeded"


# ── Nothing is left behind ────────────────────────────────────────────────────────────────────────────────

_SUPERVISE = """
import json, sys, threading
from pathlib import Path
from reinforge.schemas.worker_door import Claimed
from worker.blob_cache import BlobCache
from worker.door import Door
from worker.models.sources import ModelStore
from worker.slots import take_slot
from worker.supervisor import Supervisor

home, url, token, claimed, *command = sys.argv[1:]
home = Path(home)
door = Door(url, token)
Supervisor(
    door=door, slot=take_slot(home / "workers", "trainer", "host.example"), runs=home / "runs",
    blobs=BlobCache(home / "cache", door.get_blob), models=ModelStore(home / "models"),
    sandbox_socket=home / "sandbox.sock", stop=threading.Event(), command=command, heartbeat_seconds=0.1,
).run(Claimed.model_validate_json(claimed))
"""


def test_kill_9_of_the_supervisor_leaves_no_trainer(bench: Bench) -> None:
    bench.slot.release()
    script = "ignore metrics:1 child sleep"
    arguments = [str(bench.home), bench.server.url, TOKEN, bench.claimed(script).model_dump_json(), *TOY]
    supervisor = subprocess.Popen([sys.executable, "-c", _SUPERVISE, *arguments])
    pid = bench.trainer_pid()
    child = int(
        wait_for(lambda: (bench.folder / "child.pid").exists() and (bench.folder / "child.pid").read_text())
    )
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    wait_for(lambda: not is_running(pid), seconds=2)

    # What the trainer itself had started is ended by the next supervisor in its place.
    assert is_running(child)
    slot = take_slot(bench.home / "workers", "trainer", "host.example")
    assert slot.worker_id == bench.slot.worker_id
    assert child in end_leftover(slot)
    wait_for(lambda: not is_running(child))
    assert end_leftover(slot) == []


def test_a_pid_file_never_kills_a_stranger(bench: Bench) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        note = {
            "pid": stranger.pid,
            "start": (process_start(stranger.pid) or 0) - 1,
            "boot": "",
            "run": "/run/1",
        }
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        for change in ({"boot": boot}, {"boot": "another", "start": process_start(stranger.pid)}):
            bench.slot.pid_file.write_text(json.dumps(note | change))
            assert end_leftover(bench.slot) == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_workers_of_one_machine_take_different_slots(tmp_path: Path) -> None:
    slots = [take_slot(tmp_path, "trainer", "a host!") for _ in range(3)]
    assert len({slot.worker_id for slot in slots}) == 3
    slots[1].release()
    assert take_slot(tmp_path, "trainer", "a host!").worker_id == slots[1].worker_id


def test_the_own_process_group_of_a_trainer_is_not_the_supervisors(bench: Bench) -> None:
    thread = bench.run_aside("sleep")
    pid = bench.trainer_pid()
    assert os.getpgid(pid) == pid != os.getpgrp()
    bench.stop.set()
    thread.join(10)
