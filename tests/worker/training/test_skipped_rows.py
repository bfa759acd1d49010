"""Groups without signal: no forward pass is run on them, and their metrics stay right."""

import io
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from tests.support.small_jobs import SmallJob, share_of_low_letters, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.policy.base import Batch, LossFunction
from worker.rollout.engine import Generated, GenerateRequest
from worker.sandbox.outcome import RewardRow

UNIFORM = 1
"""Of the step's three groups: the one whose completions all get the same reward."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


class Watched(SmallJob):
    """A job of one step whose second group is uniform, and the rows that passes were run on."""

    def __init__(self, folder: Path, model: Path, **changes: Any) -> None:
        spec = small_spec(limits__steps=1, evaluation__rows=0, **changes)
        super().__init__(folder, model, spec, grade=self._grade)
        chosen = self.prompts.for_step(1, 3, {})
        self.uniform, self.all_uniform = chosen[UNIFORM].item["prompt"], False
        self.forwarded_rows: list[set[int]] = []
        self.gradients: list[torch.Tensor] = []
        forward_backward, step = self.policy.forward_backward, self.policy.optimizer_step

        def watched(batch: Batch, loss: LossFunction) -> Any:
            skipped = (
                torch.zeros(len(batch.sequences), dtype=torch.bool)
                if batch.skipped is None
                else batch.skipped
            )
            self.forwarded_rows.append(set((~skipped).nonzero()[:, 0].tolist()))
            return forward_backward(batch, loss)

        def stepped(**options: Any) -> float:
            self.gradients += [p.grad.clone() for p in self.policy._parameters.values() if p.grad is not None]
            return step(**options)

        self.policy.forward_backward = watched  # type: ignore[method-assign]
        self.policy.optimizer_step = stepped  # type: ignore[method-assign]

    def _grade(self, row: RewardRow) -> float:
        same = self.all_uniform or row.item["prompt"] == self.uniform
        return 1.0 if same else share_of_low_letters(row)

    def forget_entropies(self) -> None:
        """The engine as one that sees the sampled token only."""
        generate = self.engine.generate

        async def without(requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
            async for answer in generate(requests):
                yield replace(
                    answer, samples=tuple(replace(sample, entropies=None) for sample in answer.samples)
                )

        self.engine.generate = without  # type: ignore[method-assign]

    def look_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            "worker.training.update.skippable_rows", lambda batch, rows, moving: torch.zeros_like(moving)
        )

    @property
    def table(self) -> list[dict[str, Any]]:
        (record,) = self.records("rollouts")
        rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(self.blob(record))).to_pylist()
        return rows

    @property
    def values(self) -> dict[str, float]:
        (record,) = self.records("step_metrics")
        return dict(record.values)  # type: ignore[union-attr]


def test_no_pass_is_run_on_a_uniform_group(tmp_path: Path, model: Path) -> None:
    job = Watched(tmp_path, model)
    job.train()
    assert job.forwarded_rows == [{0, 1, 2, 3, 8, 9, 10, 11}]
    assert [row["trainer_logprobs"] is None for row in job.table] == [
        row["prompt_no"] == UNIFORM for row in job.table
    ]


def test_metrics_equal_those_of_passes_over_all_rows(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Watched(tmp_path / "aside", model)
    job.train()
    whole = Watched(tmp_path / "whole", model)
    whole.look_at_all(monkeypatch)
    whole.train()
    assert len(whole.forwarded_rows[0]) == 12
    for gradient, theirs in zip(job.gradients, whole.gradients, strict=True):
        assert torch.equal(gradient, theirs)
    for gradient, theirs in zip(job.table, whole.table, strict=True):
        assert gradient["entropies"] == pytest.approx(theirs["entropies"], abs=1e-5)
    left_out = ("time/", "throughput/", "memory/", "sampler/gap")
    for name, value in whole.values.items():
        if not name.startswith(left_out):
            assert job.values[name] == pytest.approx(value, abs=1e-5), name


def test_without_entropies_of_the_engine_one_row_of_the_group_is_forwarded(
    tmp_path: Path, model: Path
) -> None:
    job = Watched(tmp_path, model)
    job.forget_entropies()
    job.train()
    (forwarded,) = job.forwarded_rows
    assert len(forwarded & {4, 5, 6, 7}) == 1
    assert forwarded >= {0, 1, 2, 3, 8, 9, 10, 11}
    table = job.table
    assert [row["entropies"] is not None for row in table] == [row in forwarded for row in range(12)]
    # The row that was looked at stands for its group.
    means = {
        row: sum(line["entropies"]) / line["length"] for row, line in enumerate(table) if row in forwarded
    }
    stands = next(iter(forwarded & {4, 5, 6, 7}))
    total = sum(means.get(row, means[stands]) * line["length"] for row, line in enumerate(table))
    assert job.values["entropy/mean"] == pytest.approx(total / sum(line["length"] for line in table))


def test_all_rows_are_forwarded_where_a_term_trains_them(tmp_path: Path, model: Path) -> None:
    job = Watched(tmp_path, model, algorithm__loss={"kl": {"beta": 0.1}})
    job.train()
    assert job.forwarded_rows == [set(range(12))]
    assert all(row["trainer_logprobs"] is not None for row in job.table)


def test_a_step_without_any_signal_makes_no_pass_and_tells_its_entropy(tmp_path: Path, model: Path) -> None:
    job = Watched(tmp_path, model)
    job.all_uniform = True
    job.train()
    assert job.forwarded_rows == [set()]
    assert job.gradients == []
    assert job.values["entropy/mean"] == pytest.approx(
        sum(sum(row["entropies"]) for row in job.table) / sum(row["length"] for row in job.table)
    )
    assert job.values["loss/policy"] == 0
    assert job.values["sampler/gap_mean"] is None
