"""Whole jobs on a tiny random model."""

from pathlib import Path

import pytest

from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


def test_a_job_reports_everything_in_order(tmp_path: Path, qwen: Path) -> None:
    job = SmallJob(tmp_path, qwen, small_spec())
    assert job.train().outcome == "succeeded"
    kinds = [(r.kind, r.step) for r in job.records() if r.kind not in ("phase", "log")]
    assert kinds[:2] == [("rollouts", 0), ("evaluated", 0)]
    assert kinds[2:4] == [("rollouts", 1), ("step_metrics", 1)]
    assert [step for kind, step in kinds if kind == "step_metrics"] == [1, 2, 3, 4]
    assert [step for kind, step in kinds if kind == "evaluated"] == [0, 2, 4]
    assert [step for kind, step in kinds if kind == "checkpoint_saved"] == [2, 4]
    assert [step for kind, step in kinds if kind == "resume_state_saved"] == [2]
    assert [r.sequence for r in job.records()] == list(range(1, len(job.records()) + 1))
