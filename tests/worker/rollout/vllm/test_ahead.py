"""Jobs that sample a step ahead with vLLM, and continue from a resume state."""

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.small_jobs import SmallJob, small_spec
from tests.support.vllm_bench import STARTER
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.server import VllmServer

STEPS, SAVED = 5, 2
CLOSE = 1e-4


class VllmJob(SmallJob):
    python: Path

    def _engine(self) -> Any:
        ahead = self.host.sampling_copy(self.policy)

        def export(_: str, folder: Path) -> None:
            self.policy.export(folder, base_model=STARTER.name)
            ahead.refresh()

        options = Options(STARTER, "float32", "cpu", max_model_len=256, rank=self.spec.adapter.rank)
        return VllmEngine(VllmServer(self.python, options, self.folder / "vllm.log"), export)


def tokens(job: SmallJob) -> dict[int, list[list[int]]]:
    """Tokens of all completions, by training step."""
    tables = [record for record in job.records("rollouts") if record.split == "train"]
    return {
        table.step: pq.read_table(io.BytesIO(job.blob(table)), columns=["token_ids"])["token_ids"].to_pylist()
        for table in tables
    }


@pytest.mark.vllm
@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_continued_job_ends_as_one_that_went_on(python: Path, tmp_path: Path) -> None:
    """Takes two starts of vLLM, one for each attempt."""
    VllmJob.python = python
    spec = small_spec(rollout__ahead=1, limits__checkpoint_every=1, limits__steps=STEPS, evaluation__rows=0)
    whole = VllmJob(tmp_path / "whole", STARTER, spec)
    assert whole.train().outcome == "succeeded"
    state = {record.step: whole.blob(record) for record in whole.records("resume_state_saved")}[SAVED]
    rest = VllmJob(tmp_path / "rest", STARTER, spec, resume=state)
    assert rest.train().outcome == "succeeded"
    sampled, again = tokens(whole), tokens(rest)
    assert again[SAVED + 1] == sampled[SAVED + 1]  # in the resume state
    assert [*again] == [*range(SAVED + 1, STEPS + 1)] and again == {step: sampled[step] for step in again}
    assert [r.values["sampler/staleness"] for r in rest.records("step_metrics")] == [1.0] * (STEPS - SAVED)
    ends = whole.policy.weights(), rest.policy.weights()
    assert all((ends[0][key] - ends[1][key]).abs().max() < CLOSE for key in ends[0])
