"""A whole job in this process: a tiny model, rewards as plain functions instead of a sandbox."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from reinforge.algorithm.critic import ValueHead
from reinforge.records import RECORD, ForkStart, Record, RewardChange, ScheduledChange
from reinforge.spec import JobSpec
from worker.environment.base import Environment
from worker.environment.single_turn import SingleTurn
from worker.models.rendering import ChatRenderer
from worker.policy.critic import LoraCritic
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy
from worker.rewards.sandboxed import CodeReward, SandboxedScorer, live_code, scoring_threads
from worker.rollout.conversations import GroupSampler
from worker.rollout.text import Text
from worker.rollout.transformers_engine import TransformersEngine
from worker.sandbox.outcome import CallOutcome, RewardRow, RowResult
from worker.trainer.reporter import LocalReporter
from worker.training.changes import Changes
from worker.training.checkpoint.fork import from_adapter, start_of, start_weights
from worker.training.checkpoint.resume_state import Position, unpack_resume_state
from worker.training.loop import Control, Models, RolloutSource, TrainingOutcome, train
from worker.training.prompts.data import load_prompts
from worker.training.reporting.job_reporter import JobReporter

Grade = Callable[[RewardRow], RowResult | float]


def share_of_low_letters(row: RewardRow) -> float:
    """A reward that a tiny model can learn: the share of characters before 'n'."""
    return sum(character < "n" for character in row.completion) / max(1, len(row.completion))


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def small_spec(**changes: Any) -> JobSpec:
    spec: dict[str, Any] = {
        "model": "tiny",
        "data": {"dataset": "rows.jsonl", "held_out_rows": 3},
        "rewards": [{"type": "python", "name": "low", "source": "def grade(sample, item): ..."}],
        "rollout": {"prompts_per_step": 3, "completions_per_prompt": 4, "max_completion_tokens": 10},
        "adapter": {"rank": 4},
        "optimizer": {"learning_rate": 0.01},
        "evaluation": {"every_steps": 2, "rows": 3, "samples_per_row": 2},
        "limits": {"steps": 4, "checkpoint_every": 2},
        "seed": 5,
    }
    for path, value in changes.items():
        part = spec
        *parents, last = path.split("__")
        for parent in parents:
            part = part.setdefault(parent, {})
        part[last] = value
    return JobSpec.model_validate(spec).resolved()


class SmallJob:
    """Everything `train` needs, over a folder with a tiny model."""

    models: Models | None = None
    """What is trained in place of policy and critic themselves."""

    def __init__(
        self,
        folder: Path,
        model: Path,
        spec: JobSpec,
        *,
        rows: list[dict[str, Any]] | None = None,
        grade: Grade = share_of_low_letters,
        resume: bytes | None = None,
        fork: ForkStart | None = None,
        start: bytes | None = None,
        grades: dict[str, Grade] | None = None,
        changes: Sequence[ScheduledChange] = (),
        environment: Callable[["SmallJob"], Environment] = lambda job: SingleTurn(),
        sampler: Callable[["SmallJob"], GroupSampler] | None = None,
    ) -> None:
        """grades: what code that a change brings says, by its source. changes: what an earlier attempt applied.
        fork: `resume` is of another job."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.spec, self.position = folder, spec, Position()
        self.base = load_base_model(model, precision=spec.base.precision)
        self.host = LocalHost(self.base)
        adapter = spec.adapter
        self.policy: LoraPolicy = self.host.create_policy(
            "policy", rank=adapter.rank, alpha=adapter.alpha or 8, targets=adapter.targets, seed=spec.seed
        )
        critic = spec.algorithm.critic
        self.critic: LoraCritic | None = None
        if isinstance(critic, ValueHead):
            host = self.host
            if critic.base == "own":
                host = LocalHost(load_base_model(model, precision=spec.base.precision))
            self.critic = host.create_critic(
                "critic", rank=adapter.rank, alpha=adapter.alpha or 8, targets=adapter.targets, seed=spec.seed
            )
        state, critic_state = None, None
        if resume is not None:
            self.position, state, critic_state = (
                unpack_resume_state(resume) if fork is None else start_of(resume, fork, "policy")
            )
        if start is not None:
            state = from_adapter(start_weights(start, "policy", self.policy.weights()), state)
        if state is not None:
            self.policy.load_state(state)
            if self.critic is not None and critic_state is not None:
                self.critic.load_state(critic_state)
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.text = Text(self.tokenizer)
        self.engine = self._engine()
        self.reporter = LocalReporter(folder)
        self.reporter.rewind(self.position.step)
        self._call = _call(grade, grades or {})
        self.changes, self.threads = changes, scoring_threads(2)
        self.scorer = SandboxedScorer([_reward(reward) for reward in spec.rewards], self._call, threads=2)
        path = write_rows(folder / "rows.jsonl", rows or [{"prompt": f"row {n}"} for n in range(12)])
        self.prompts = load_prompts(
            spec.data, path, None, renderer=ChatRenderer(self.tokenizer), seed=spec.seed, max_tokens=200
        )
        self.environment, self.stop_ids = environment(self), self.base.stop_ids
        self.sampler = sampler(self) if sampler else None

    def _engine(self) -> TransformersEngine:
        if not self.spec.rollout.ahead:
            return TransformersEngine(self.base.model, self.text.raw, self.host.sampling_as)
        ahead = self.host.sampling_copy(self.policy)
        model, sampling_as = ahead.host.base.model, ahead.host.sampling_as
        return TransformersEngine(model, self.text.raw, sampling_as, refresh=ahead.refresh)

    def train(self) -> TrainingOutcome:
        job_reporter = JobReporter(
            self.reporter, self.text.pieces, model=self.spec.model, revisions=lambda: self.scorer.revisions
        )
        return asyncio.run(
            train(
                self.spec,
                self.models or Models(self.policy, self.critic),
                RolloutSource(
                    self.engine,
                    self.environment,
                    self.scorer,
                    self.text.completions,
                    self.stop_ids,
                    sampler=self.sampler,
                ),
                self.prompts,
                self.position,
                Control(
                    self.reporter,
                    job_reporter,
                    Changes(self.changes, self._change, self.reporter, job_reporter),
                ),
            )
        )

    def _change(self, change: RewardChange) -> None:
        (old,) = (reward for reward in self.spec.rewards if reward.name == change.name)
        code = replace(_reward(old), source=change.source, revision=change.revision)
        self.scorer.replace(live_code(code, self._call, self.threads))

    def records(self, kind: str | None = None) -> list[Record]:
        # Bytes: a completion may hold characters at which text would be split, such as U+2028.
        lines = (self.folder / "records.jsonl").read_bytes().splitlines()
        records = [RECORD.validate_json(line) for line in lines]
        return [record for record in records if kind is None or record.kind == kind]

    def blob(self, record: Any) -> bytes:
        return (self.folder / "blobs" / record.blob.sha256).read_bytes()

    def metrics(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "metrics.jsonl").read_text().splitlines()]


def _reward(reward: Any) -> CodeReward:
    return CodeReward(
        name=reward.name,
        weight=reward.weight,
        source=reward.source,
        revision=f"{reward.name}@1",
        entry=reward.entry,
        granularity=reward.granularity,
        isolate=reward.isolate,
        on_error=reward.on_error,
        timeout_seconds=reward.timeout_seconds,
    )


def _call(grade: Grade, grades: dict[str, Grade]) -> Callable[[CodeReward, list[RewardRow]], CallOutcome]:
    def call(reward: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        graded = [grades.get(reward.source, grade)(row) for row in rows]
        return CallOutcome("ok", [g if isinstance(g, RowResult) else RowResult("ok", g) for g in graded])

    return call
