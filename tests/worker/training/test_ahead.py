"""Jobs that sample a step ahead: with the policy of before the update, the same way every time, to the same end."""

import io
import json
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from reinforge.errors import JobFailure
from reinforge.records import Command, RewardChange, ScheduledChange, SettingChange
from reinforge.spec import JobSpec
from tests.support.small_jobs import SmallJob, share_of_low_letters, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Sequences
from worker.rewards.base import RewardsFailed
from worker.sandbox.outcome import RewardRow, RowResult
from worker.training.checkpoint.resume_state import unpack_resume_state
from worker.training.checkpoint.sampled_ahead import pack_ahead, unpack_ahead

TIMES = ("time/", "throughput/", "memory/")


def ahead_spec(**changes: Any) -> JobSpec:
    return small_spec(rollout__ahead=1, limits__checkpoint_every=1, **changes)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, model: Path) -> SmallJob:
    job = SmallJob(tmp_path_factory.mktemp("finished"), model, ahead_spec())
    assert job.train().outcome == "succeeded"
    return job


def series(job: SmallJob) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in line["values"].items() if not key.startswith(TIMES)}
        for line in job.metrics()
    ]


def staleness(job: SmallJob) -> list[float]:
    return [record.values["sampler/staleness"] for record in job.records("step_metrics")]


def last_adapter(job: SmallJob) -> bytes:
    return job.blob(job.records("checkpoint_saved")[-1])


def states(job: SmallJob) -> dict[int, bytes]:
    return {record.step: job.blob(record) for record in job.records("resume_state_saved")}


def at(job: SmallJob, phase: str, step: int, command: Command) -> None:
    """The command arrives as soon as the phase of this step is reported."""
    report = job.reporter.report

    def watching(record: Any, **fields: Any) -> Any:
        made = report(record, **fields)
        if (fields.get("phase"), fields.get("step")) == (phase, step):
            job.reporter.receive(command)
        return made

    job.reporter.report = watching  # type: ignore[method-assign]


def test_the_gap_to_the_sampler_is_corrected_for() -> None:
    mismatch = ahead_spec().algorithm.loss.mismatch
    assert (mismatch.type, getattr(mismatch, "mode", None)) == ("importance", "token_truncate")
    assert small_spec().algorithm.loss.mismatch.type == "none"


EARLIER: set[threading.Thread] = set()
"""Threads that tests before left behind."""


@pytest.fixture(autouse=True)
def earlier_threads() -> None:
    EARLIER.clear()
    EARLIER.update(threading.enumerate())


def update_threads() -> list[str]:
    threads = set(threading.enumerate()) - EARLIER
    return [thread.name for thread in threads if thread.name.startswith("asyncio_")]


def test_completions_are_those_of_the_policy_before_the_update(finished: SmallJob, model: Path) -> None:
    assert staleness(finished) == [0, 1, 1, 1]
    before, after = (unpack_resume_state(states(finished)[step]) for step in (1, 2))
    ahead = after[0].ahead
    assert ahead is not None and (ahead.round.noise_step, ahead.round.version) == (3, 1)
    rollouts = ahead.collected.rollouts
    sequences = Sequences(
        [rollout.prompt.token_ids for rollout in rollouts], [rollout.token_ids for rollout in rollouts], 1.0
    )
    gaps = []
    for state in (before, after):
        finished.policy.load_weights(state[1].adapter)
        logprobs = finished.policy.log_probs(sequences).logprobs
        rows = [torch.tensor(rollout.sampler_logprobs) for rollout in rollouts]
        gaps.append(max(float((logprobs[n, : len(row)] - row).abs().max()) for n, row in enumerate(rows)))
    assert gaps[0] < 1e-4 < 1e-2 < gaps[1]
    # And they are what step 3 was trained on.
    (table,) = [r for r in finished.records("rollouts") if (r.step, r.split) == (3, "train")]
    stored = pq.read_table(io.BytesIO(finished.blob(table)), columns=["token_ids"])["token_ids"].to_pylist()
    assert stored == [list(rollout.token_ids) for rollout in rollouts]


def test_two_runs_and_runs_that_were_continued_are_equal(
    tmp_path: Path, model: Path, finished: SmallJob
) -> None:
    again = SmallJob(tmp_path / "again", model, ahead_spec())
    again.train()
    assert series(again) == series(finished) and last_adapter(again) == last_adapter(finished)
    rest = SmallJob(tmp_path / "rest", model, ahead_spec(), resume=states(finished)[2])
    assert rest.train().outcome == "succeeded"
    assert series(rest) == series(finished)[-len(series(rest)) :]
    assert staleness(rest) == [1, 1]
    assert last_adapter(rest) == last_adapter(finished)


def test_a_pause_keeps_what_was_sampled(tmp_path: Path, model: Path, finished: SmallJob) -> None:
    job = SmallJob(tmp_path / "a", model, ahead_spec())
    at(job, "updating", 2, Command(id="cmd", kind="pause"))
    assert job.train().outcome == "paused" and job.position.step == 2
    assert not update_threads()
    rest = SmallJob(tmp_path / "b", model, ahead_spec(), resume=states(job)[2])
    rest.train()
    assert last_adapter(rest) == last_adapter(finished)


def test_a_cancel_ends_the_sampling_and_its_thread(tmp_path: Path, model: Path) -> None:
    job = SmallJob(tmp_path, model, ahead_spec())
    at(job, "updating", 2, Command(id="cmd", kind="cancel"))
    assert job.train().outcome == "cancelled"
    assert job.position.step == 2 and [r.step for r in job.records("step_metrics")] == [1, 2]
    assert not update_threads()


@pytest.mark.parametrize(
    ("change", "revisions"),
    [
        (SettingChange(setting="rollout.temperature", value=0.5, before=1.0), ["low@1"] * 4),
        (RewardChange(name="low", source="high", revision="low@2"), ["low@1", "low@1", "low@2", "low@2"]),
    ],
    ids=["temperature", "reward"],
)
def test_what_a_change_makes_unfit_is_sampled_again(
    tmp_path: Path, model: Path, change: Any, revisions: list[str]
) -> None:
    grades = {"high": lambda row: 1 - share_of_low_letters(row)}
    job = SmallJob(tmp_path / "a", model, ahead_spec(), grades=grades)
    at(job, "updating", 2, Command(id="chg_1", kind="change", change=change))
    job.train()
    assert [(r.change, r.step) for r in job.records("change_applied")] == [("chg_1", 3)]
    assert staleness(job) == [0, 1, 0, 1]
    tables = [r for r in job.records("rollouts") if r.split == "train"]
    for table, revision in zip(tables, revisions, strict=True):
        rows = pq.read_table(io.BytesIO(job.blob(table)), columns=["rewards"])["rewards"].to_pylist()
        assert {result["revision"] for row in rows for result in json.loads(row)} == {revision}
        assert table.revisions == {"low": revision}
    scheduled = [ScheduledChange(id="chg_1", step=3, change=change)]
    rest = SmallJob(
        tmp_path / "b", model, ahead_spec(), grades=grades, changes=scheduled, resume=states(job)[2]
    )
    rest.train()
    assert last_adapter(rest) == last_adapter(job)


def test_a_failure_of_the_next_steps_rewards_waits_for_that_step(tmp_path: Path, model: Path) -> None:
    broken = [False]

    def grade(row: RewardRow) -> RowResult | float:
        return RowResult("exception", message="no") if broken[0] else share_of_low_letters(row)

    job = SmallJob(tmp_path, model, ahead_spec(evaluation__rows=0), grade=grade)
    step = job.reporter.metrics

    def breaking(number: int, kind: Any, values: Any) -> None:
        step(number, kind, values)
        broken[0] = number == 1

    job.reporter.metrics = breaking  # type: ignore[method-assign]
    with pytest.raises(RewardsFailed):
        job.train()
    assert job.position.step == 2 and job.position.ahead is None
    assert [r.step for r in job.records("step_metrics")] == [1, 2]
    broken[0] = False
    job.changes = ()
    assert job.train().outcome == "succeeded" and staleness(job) == [0, 1, 0, 1]


def test_an_error_of_the_update_ends_the_sampling_too(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = SmallJob(tmp_path, model, ahead_spec(evaluation__rows=0))
    forward_backward = job.policy.forward_backward

    def failing(*arguments: Any) -> Any:
        if job.position.step == 1:
            raise JobFailure("no", code="out_of_memory", hint="", retryable=True)
        return forward_backward(*arguments)

    monkeypatch.setattr(job.policy, "forward_backward", failing)
    with pytest.raises(JobFailure):
        job.train()
    # The state of the last completed step has the completions of the one that failed.
    assert job.position.step == 1
    assert job.position.ahead is not None and job.position.ahead.round.noise_step == 2
    assert not update_threads()


def test_the_off_policy_mask_of_v3_2_acts_on_stale_completions(tmp_path: Path, model: Path) -> None:
    shares = {}
    for ahead in (0, 1):
        spec = small_spec(
            rollout__ahead=ahead,
            algorithm={"preset": "v3_2_math"},
            optimizer__learning_rate=0.2,
            evaluation__rows=0,
        )
        job = SmallJob(tmp_path / str(ahead), model, spec)
        job.train()
        shares[ahead] = [r.values["policy/off_policy_share"] for r in job.records("step_metrics")]
    assert shares[0] == [0] * 4
    assert shares[1][0] == 0 and max(shares[1][1:]) > 0


def test_files_of_completions_are_exact(finished: SmallJob) -> None:
    ahead = unpack_resume_state(states(finished)[2])[0].ahead
    assert ahead is not None
    assert unpack_ahead(pack_ahead(ahead)) == ahead
    assert unpack_ahead({}) is None


def test_what_runs_beside_nothing_runs_in_no_thread(tmp_path: Path, model: Path) -> None:
    names = set[str]()
    job = SmallJob(tmp_path, model, small_spec(limits__steps=1, evaluation__rows=0))
    forward_backward = job.policy.forward_backward

    def watching(*arguments: Any) -> Any:
        names.add(threading.current_thread().name)
        return forward_backward(*arguments)

    job.policy.forward_backward = watching  # type: ignore[method-assign]
    job.train()
    assert names == {threading.main_thread().name}
    assert "sampler/staleness" not in job.metrics()[0]["values"]
