"""Changes of a running job: from the next step on, and at the same step again after a resume."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from reinforge.records import Command, RewardChange, ScheduledChange, SettingChange
from tests.support.small_jobs import SmallJob, share_of_low_letters, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.sandbox.outcome import RewardRow

CHANGE = RewardChange(name="low", source="high", revision="low@2")


def share_of_high_letters(row: RewardRow) -> float:
    return 1 - share_of_low_letters(row)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


def job_in(folder: Path, model: Path, **more: Any) -> SmallJob:
    return SmallJob(folder, model, small_spec(), grades={"high": share_of_high_letters}, **more)


def ask_after(job: SmallJob, step: int, command: Command) -> None:
    """The command arrives as soon as the metrics of `step` are out."""
    report = job.reporter.metrics

    def metrics(number: int, kind: Any, values: Any) -> None:
        report(number, kind, values)
        if (number, kind) == (step, "train"):
            job.reporter.receive(command)

    job.reporter.metrics = metrics  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory, model: Path) -> SmallJob:
    job = job_in(tmp_path_factory.mktemp("changed"), model)
    ask_after(job, 2, Command(id="chg_1", kind="change", change=CHANGE))
    assert job.train().outcome == "succeeded"
    return job


def revisions(job: SmallJob) -> dict[int, set[str]]:
    """Step → revisions that its training completions name."""
    revisions_by_step: dict[int, set[str]] = {}
    for record in job.records("rollouts"):
        if record.split == "train":
            rows = pq.read_table(io.BytesIO(job.blob(record)), columns=["rewards"])["rewards"].to_pylist()
            revisions_by_step[record.step] = {
                reward["revision"] for row in rows for reward in json.loads(row)
            }
    return revisions_by_step


def test_completions_name_the_revision_that_scored_them(changed: SmallJob) -> None:
    assert revisions(changed) == {1: {"low@1"}, 2: {"low@1"}, 3: {"low@2"}, 4: {"low@2"}}
    assert [(record.change, record.step) for record in changed.records("change_applied")] == [("chg_1", 3)]


def test_a_resumed_attempt_changes_at_the_same_step_and_ends_the_same(
    tmp_path: Path, model: Path, changed: SmallJob
) -> None:
    (state,) = changed.records("resume_state_saved")
    assert state.step == 2
    changes = [ScheduledChange(id="chg_1", step=3, change=CHANGE)]
    job = job_in(tmp_path / "again", model, resume=changed.blob(state), changes=changes)
    # The platform does not know yet that it was applied: it comes as a command as well, and is not applied twice.
    job.reporter.receive(Command(id="chg_1", kind="change", change=CHANGE))
    assert job.train().outcome == "succeeded"
    assert revisions(job) == {3: {"low@2"}, 4: {"low@2"}}
    assert [record.step for record in job.records("change_applied")] == [3]
    ends = [run.records("checkpoint_saved")[-1] for run in (job, changed)]
    assert job.blob(ends[0]) == changed.blob(ends[1])


def test_a_change_of_before_the_resume_state_is_at_work_from_the_first_step(
    tmp_path: Path, model: Path
) -> None:
    first = job_in(tmp_path / "first", model)
    assert first.train().outcome == "succeeded"
    (state,) = first.records("resume_state_saved")
    changes = [ScheduledChange(id="chg_1", step=2, change=CHANGE)]
    job = job_in(tmp_path / "second", model, resume=first.blob(state), changes=changes)
    assert job.train().outcome == "succeeded"
    assert revisions(job)[3] == {"low@2"}


def test_one_that_comes_after_the_last_step_is_not_applied(tmp_path: Path, model: Path) -> None:
    job = job_in(tmp_path / "late", model)
    ask_after(job, 4, Command(id="chg_1", kind="change", change=CHANGE))
    assert job.train().outcome == "succeeded"
    assert job.records("change_applied") == []


# ── Settings ────────────────────────────────────────────────────────────────────────────────────────────────

SETTINGS = [
    ("optimizer.learning_rate", 0.002, 0.01),
    ("rollout.temperature", 0.5, 1.0),
    ("algorithm.loss.kl.beta", 0.3, 0.0),
    ("algorithm.loss.surrogate.eps_high", 0.01, 0.2),
]


def spec_of_settings() -> Any:
    return small_spec(algorithm__updates_per_step=2, evaluation__rows=0, optimizer__learning_rate=0.01)


def setting(path: str, value: float, before: float) -> SettingChange:
    return SettingChange(setting=path, value=value, before=before)


def last_adapter(job: SmallJob) -> bytes:
    return job.blob(job.records("checkpoint_saved")[-1])


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, model: Path) -> SmallJob:
    job = SmallJob(tmp_path_factory.mktemp("unchanged"), model, spec_of_settings())
    assert job.train().outcome == "succeeded"
    return job


def test_settings_are_taken_up_at_a_step_and_again_after_a_resume(
    tmp_path: Path, model: Path, unchanged: SmallJob
) -> None:
    """All of them at once, in the step after the resume state: the resumed attempt ends byte for byte the same."""
    job = SmallJob(tmp_path / "changed", model, spec_of_settings())
    for number, (path, value, before) in enumerate(SETTINGS):
        ask_after(job, 2, Command(id=f"chg_{number}", kind="change", change=setting(path, value, before)))
    assert job.train().outcome == "succeeded"
    applied = job.records("change_applied")
    assert {record.change for record in applied} == {"chg_0", "chg_1", "chg_2", "chg_3"}
    assert {record.step for record in applied} == {3}
    rates = {record.step: record.values["optimizer/learning_rate"] for record in job.records("step_metrics")}
    assert rates == {1: 0.01, 2: 0.01, 3: 0.002, 4: 0.002}
    assert last_adapter(job) != last_adapter(unchanged)
    (state,) = job.records("resume_state_saved")
    assert state.step == 2
    changes = [
        ScheduledChange(id=record.change, step=3, change=setting(*SETTINGS[int(record.change[-1])]))
        for record in applied
    ]
    again = SmallJob(tmp_path / "again", model, spec_of_settings(), resume=job.blob(state), changes=changes)
    assert again.train().outcome == "succeeded"
    assert last_adapter(again) == last_adapter(job)


@pytest.mark.parametrize(("path", "value", "before"), SETTINGS, ids=[case[0] for case in SETTINGS])
def test_each_setting_changes_what_is_trained(
    tmp_path: Path, model: Path, unchanged: SmallJob, path: str, value: float, before: float
) -> None:
    job = SmallJob(tmp_path / "one", model, spec_of_settings())
    ask_after(job, 1, Command(id="chg", kind="change", change=setting(path, value, before)))
    assert job.train().outcome == "succeeded"
    first = [run.records("step_metrics")[0].values["reward/mean"] for run in (job, unchanged)]
    assert first[0] == first[1]
    assert last_adapter(job) != last_adapter(unchanged)
