"""The supervisor with a toy trainer and a toy backend: what reaches the backend, and why a job ended."""

import dataclasses
import errno
import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.supervised import DATASET, REWARD, Bench, is_running, wait_for
from tests.support.worker_api_stub import StubWorkerApi
from worker.supervisor.supervisor import LEAVE_GRACE_SECONDS, TICK_SECONDS, JobOutcome
from worker.supervisor.watchdog import SilenceLimits

# ── A job from claim to end ───────────────────────────────────────────────────────────────────────────────


def test_all_records_arrive_in_order_with_their_blobs_before_them(bench: Bench) -> None:
    assert bench.run("metrics:3 blob metrics:2 blob end") is JobOutcome.DELIVERED

    state = bench.server.state
    assert [record["sequence"] for record in state.records] == list(range(1, 9))
    assert bench.kinds() == ["step_metrics"] * 3 + ["rollouts"] + ["step_metrics"] * 2 + ["rollouts", "ended"]
    blob = state.records[3]["blob"]["sha256"]
    assert state.order.index(f"blob {blob}") < state.order.index("record 4")
    assert hashlib.sha256(state.blobs[blob]).hexdigest() == blob
    assert not list((bench.folder / "blobs").iterdir()), "delivered blobs do not fill the worker's disk"


def test_blobs_travel_with_the_jobs_own_token(bench: Bench) -> None:
    bench.run("metrics:1 blob end")
    assert bench.server.state.blob_tokens == {"Bearer job-token"}


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
    monkeypatch.setenv("SANDBOX_KEY_FILE", "/keys/sandbox.pem")
    bench.run("end")
    environment = json.loads((bench.folder / "environment.json").read_text())
    assert "secret" not in environment.values()
    assert environment["SANDBOX_KEY_FILE"] == "/keys/sandbox.pem", "the trainer scores by itself"
    assert environment["CUDA_VISIBLE_DEVICES"] == "1"
    assert environment["REINFORGE_RECORD_FD"] == "3"


def test_keys_of_judges_reach_the_trainer_by_its_environment_alone(bench: Bench) -> None:
    grader = {"type": "score_model", "model": "critic", "input": [{"content": "x"}]}
    bench.run(
        "end",
        rewards=[{"name": "good", "source": json.dumps(grader), "revision": "rew_2@1", "kind": "grader"}],
        judges={"critic": {"base_url": "http://judge.example/v1", "model": "m"}},
        judge_keys={"critic": "sk-of-the-critic"},
        signing_secret="whsec_c2lnbg==",
    )
    manifest = json.loads((bench.folder / "run.json").read_text())
    assert manifest["rewards"][0]["kind"] == "grader"
    assert json.loads(Path(manifest["rewards"][0]["path"]).read_text()) == grader
    assert manifest["judges"]["critic"]["base_url"] == "http://judge.example/v1"
    assert Path(manifest["judge_cache"]).parent == bench.folder.parent, "the next attempt finds it"
    environment = json.loads((bench.folder / "environment.json").read_text())
    secrets = json.loads(environment["REINFORGE_REWARD_SECRETS"])
    assert secrets == {"judges": {"critic": "sk-of-the-critic"}, "signing": "whsec_c2lnbg=="}
    (bench.folder / "environment.json").unlink()  # the toy's own
    leaks = [path for path in bench.home.rglob("*") if path.is_file() and b"sk-of-the" in path.read_bytes()]
    assert leaks == []


def test_commands_reach_the_trainer_once_and_are_reported_as_applied(bench: Bench) -> None:
    state = bench.server.state
    thread = bench.run_in_thread("metrics:1 commands:2 end")
    bench.trainer_pid()
    state.commands.append({"id": "cmd_1", "kind": "checkpoint"})
    wait_for(lambda: any("cmd_1" in heartbeat["applied_commands"] for heartbeat in state.heartbeats))
    change = {
        "type": "reward",
        "name": "r",
        "kind": "python",
        "source": "x",
        "entry": None,
        "revision": "rew_1@2",
    }
    state.commands.append({"id": "chg_2", "kind": "change", "change": change})
    thread.join(20)
    assert bench.outcome is JobOutcome.DELIVERED
    received = [{"id": "cmd_1", "kind": "checkpoint", "change": None}, state.commands[1]]
    assert json.loads(state.records[1]["message"]) == received


def test_a_dataset_is_downloaded_once_for_all_jobs(bench: Bench) -> None:
    bench.run("end")
    bench.server.state.blobs.pop(hashlib.sha256(DATASET).hexdigest())
    bench.server.state.acknowledged = 0
    assert bench.run("end", attempt=2) is JobOutcome.DELIVERED
    assert bench.end()["outcome"] == "succeeded"


def test_uploads_follow_a_redirect_without_the_token(bench: Bench) -> None:
    bench.server.state.redirect_blobs_to = bench.server.url.replace("127.0.0.1", "localhost")
    assert bench.run("blob end") is JobOutcome.DELIVERED
    assert bench.kinds() == ["rollouts", "ended"]


# ── Bad days ──────────────────────────────────────────────────────────────────────────────────────────────


def test_no_record_is_lost_while_the_backend_is_away(bench: Bench) -> None:
    state = bench.server.state
    thread = bench.run_in_thread("metrics:5 blob commands metrics:300 blob end")
    wait_for(lambda: state.acknowledged >= 3)
    state.away = True
    # The trainer goes on meanwhile: all its records wait in the outbox.
    wait_for(lambda: (bench.folder / "records.jsonl").read_text().count("\n") >= 6)
    time.sleep(0.3)  # a few refused attempts
    state.commands.append({"id": "cmd_1", "kind": "checkpoint"})
    state.away = False
    thread.join(30)
    assert bench.outcome is JobOutcome.DELIVERED
    assert [record["sequence"] for record in state.records] == list(range(1, 310))


def test_a_backend_that_is_restarted_gets_every_record_once(bench: Bench) -> None:
    state, port = bench.server.state, bench.server.server_address[1]
    thread = bench.run_in_thread("metrics:2 commands metrics:50 end")
    wait_for(lambda: state.acknowledged >= 1)
    bench.server.stop()
    state.commands.append({"id": "cmd_1", "kind": "checkpoint"})
    again = StubWorkerApi(port, state)
    try:
        thread.join(30)
    finally:
        again.stop()
    assert bench.outcome is JobOutcome.DELIVERED
    assert [record["sequence"] for record in state.records] == list(range(1, 55))


def test_a_lost_answer_sends_the_records_again(bench: Bench) -> None:
    bench.server.state.forget_acknowledgement = 2
    assert bench.run("metrics:3 end") is JobOutcome.DELIVERED
    assert [record["sequence"] for record in bench.server.state.records] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "script", ["metrics:1 child sleep", "ignore metrics:1 child sleep"], ids=["polite", "deaf"]
)
def test_a_lease_taken_by_another_ends_the_trainer(bench: Bench, script: str) -> None:
    thread = bench.run_in_thread(script)
    pid = bench.trainer_pid()
    wait_for(lambda: bench.server.state.acknowledged == 1)
    child = int(
        wait_for(lambda: (bench.folder / "child.pid").exists() and (bench.folder / "child.pid").read_text())
    )
    bench.server.state.lease_taken = True
    wait_for(lambda: not is_running(pid))
    wait_for(lambda: not is_running(child))
    thread.join(10)
    assert bench.outcome is JobOutcome.LEASE_LOST
    assert bench.kinds() == ["step_metrics"], "an attempt that lost its lease writes nothing more"


def test_an_unresponsive_trainer_gets_less_than_two_seconds() -> None:
    assert LEAVE_GRACE_SECONDS + 5 * TICK_SECONDS < 2


def test_a_lease_that_runs_out_ends_the_trainer(bench: Bench) -> None:
    bench.server.state.lease_seconds = 0.6
    thread = bench.run_in_thread("metrics:1 sleep", lease_seconds=5.0)
    pid = bench.trainer_pid()
    wait_for(lambda: bench.server.state.acknowledged == 1)
    bench.server.state.away = True
    thread.join(20)
    assert bench.outcome is JobOutcome.LEASE_LOST
    assert not is_running(pid)


def test_a_short_lease_is_renewed_often_enough(bench: Bench) -> None:
    bench.supervisor = dataclasses.replace(bench.supervisor, heartbeat_seconds=60)
    thread = bench.run_in_thread("sleep", lease_seconds=3)
    wait_for(lambda: len(bench.server.state.heartbeats) >= 3)
    bench.stop.set()
    thread.join(20)
    assert bench.outcome is JobOutcome.STOPPED


def test_three_refused_heartbeats_end_the_trainer(bench: Bench) -> None:
    bench.server.state.refuse_heartbeats = True
    assert bench.run("metrics:1 sleep") is JobOutcome.LEASE_LOST
    assert len(bench.server.state.heartbeats) == 3


def test_a_worker_that_goes_down_ends_its_trainer_and_says_nothing_about_the_job(bench: Bench) -> None:
    thread = bench.run_in_thread("metrics:1 sleep")
    pid = bench.trainer_pid()
    wait_for(lambda: bench.server.state.acknowledged == 1)
    bench.stop.set()
    thread.join(10)
    assert bench.outcome is JobOutcome.STOPPED
    assert not is_running(pid)
    assert bench.kinds() == ["step_metrics"]


def test_records_that_the_backend_refuses_end_the_job_with_that_reason(bench: Bench) -> None:
    bench.server.state.refuse_records = True
    assert bench.run("metrics:3 sleep") is JobOutcome.REFUSED
    assert bench.end()["reason"] == "record_refused"


@pytest.mark.parametrize("code", ["storage_full", "storage_unavailable"])
def test_an_object_store_that_stays_out_of_order_pauses_the_job(bench: Bench, code: str) -> None:
    bench.server.state.refuse_blobs = code
    bench.supervisor = dataclasses.replace(bench.supervisor, storage_patience_seconds=0.5)
    assert bench.run("metrics:2 print:the_last_words blob sleep") is JobOutcome.REFUSED
    end = bench.end()
    assert (end["outcome"], end["reason"], end["sequence"]) == ("paused", code, 3)
    assert code in end["message"] and "resume" in end["hint"]
    assert "the last words" in end["traceback"]


def test_a_sender_that_breaks_does_not_leave_the_job_hanging(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(bench.supervisor.api, "put_blob", break_down)
    assert bench.run("metrics:1 blob sleep") is JobOutcome.REFUSED
    end = bench.end()
    assert (end["outcome"], end["reason"]) == ("failed", "delivery_failed")
    assert "RuntimeError: a bug" in end["message"] and end["hint"]


def test_an_object_store_that_recovers_costs_nothing(bench: Bench) -> None:
    state = bench.server.state
    state.refuse_blobs = "storage_unavailable"
    thread = bench.run_in_thread("metrics:1 blob metrics:1 end")
    written = bench.folder / "records.jsonl"
    wait_for(lambda: written.exists() and written.read_text().count("\n") == 4)
    state.refuse_blobs = None
    thread.join(30)
    assert bench.outcome is JobOutcome.DELIVERED
    assert [record["sequence"] for record in state.records] == [1, 2, 3, 4]


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
    monkeypatch.setattr("worker.supervisor.exit_diagnosis.memory_kills", lambda: 0)
    script = script.replace("print:OSError:_No", "print:OSError_No").replace(
        "print:the", "metrics:2 print:the"
    )
    assert bench.run(script) is JobOutcome.DELIVERED
    end = bench.end()
    outcome = "paused" if reason in ("disk_full", "out_of_memory") else "failed"
    assert (end["outcome"], end["reason"], end["step"], end["sequence"]) == (outcome, reason, 2, 3)
    assert in_message in end["message"]
    assert end["hint"]
    assert "the last words" in end["traceback"]


def test_a_silent_trainers_stack_is_logged_before_it_is_ended(bench: Bench) -> None:
    bench.supervisor = replace(bench.supervisor, silence_limits=SilenceLimits.parse("1"))
    assert bench.run("where metrics:2 sleep") is JobOutcome.DELIVERED
    end = bench.end()
    assert (end["outcome"], end["reason"], end["step"], end["sequence"]) == ("failed", "stalled", 2, 3)
    assert "between steps, after step 2" in end["message"]
    assert "REINFORGE_STALL_SECONDS" in end["hint"]
    assert "in play" in end["traceback"], "what its threads were doing"


def test_a_trainer_killed_by_the_kernel_ran_out_of_memory(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter([4, 5])
    monkeypatch.setattr("worker.supervisor.exit_diagnosis.memory_kills", lambda: next(counts))
    bench.run("kill:SIGKILL")
    assert (bench.end()["outcome"], bench.end()["reason"]) == ("paused", "out_of_memory")


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
    assert bench.run("end", **changes) is JobOutcome.DELIVERED
    assert (bench.end()["outcome"], bench.end()["reason"]) == (outcome, reason)
    assert bench.end()["hint"]


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("where", "error", "reason"),
    [
        ("worker.supervisor.supervisor.make_run_folder", FULL, "disk_full"),
        ("worker.supervisor.supervisor.Outbox", FULL, "disk_full"),
        ("worker.supervisor.supervisor.prepare", FULL, "disk_full"),
        ("worker.supervisor.trainer_process.remember_process", FULL, "disk_full"),
        (
            "reinforge.system.child_process.subprocess.Popen",
            OSError(errno.ENOMEM, "Cannot allocate memory"),
            "out_of_memory",
        ),
        (
            "worker.supervisor.supervisor.make_run_folder",
            PermissionError(errno.EACCES, "No."),
            "preparation_failed",
        ),
    ],
)
def test_a_worker_that_cannot_even_begin_says_why(
    bench: Bench, where: str, error: OSError, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(where, fail)
    assert bench.run("sleep") is JobOutcome.DELIVERED
    outcome = "paused" if reason in ("disk_full", "out_of_memory") else "failed"
    assert (bench.end()["outcome"], bench.end()["reason"]) == (outcome, reason)
    assert bench.end()["hint"]
    pid = bench.folder / "pid"
    assert not pid.exists() or not is_running(int(pid.read_text()))


def test_a_damaged_download_is_fetched_again(bench: Bench) -> None:
    bench.server.state.damage_blobs = 2
    assert bench.run("end") is JobOutcome.DELIVERED
    assert bench.end()["outcome"] == "succeeded"


def test_a_resume_state_that_the_store_has_lost_is_a_named_end(bench: Bench) -> None:
    lost = {"sha256": "ab" * 32, "bytes": 10}
    assert bench.run("end", resume=lost, resume_step=4) is JobOutcome.DELIVERED
    assert (bench.end()["outcome"], bench.end()["reason"]) == ("failed", "resume_state_invalid")
