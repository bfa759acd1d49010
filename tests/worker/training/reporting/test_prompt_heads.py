"""Prompts in a job's records."""

from pathlib import Path

from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model


def test_a_job_reports_every_prompt_once_per_split(tmp_path: Path) -> None:
    job = SmallJob(tmp_path / "job", write_tiny_model(tmp_path / "model"), small_spec())
    assert job.train().outcome == "succeeded"
    for split in ("train", "held_out"):
        records = [record for record in job.records("rollouts") if record.split == split]
        reported = [head.row_index for record in records for head in record.prompts]
        assert len(reported) == len(set(reported))
        assert set(reported) == {row.row_index for record in records for row in record.rows}
