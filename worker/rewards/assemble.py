"""Builds a job's scorer from its rewards."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput, JobFailure
from reinforge.grading.multi import Grader, Multi, Part, runs_code
from reinforge.grading.own_types import ProgramTests, RankingJudge
from reinforge.grading.source import parse_grader
from reinforge.grading.types import (
    EndpointGrader,
    LabelModel,
    PythonGrader,
    ScoreModel,
    StringCheck,
    TextSimilarity,
)
from reinforge.net.outbound import Guard
from reinforge.records import RewardCode, RunManifest
from reinforge.reward_spec import PythonReward, Reward, grader_of
from reinforge.reward_spec.judges import Judge
from reinforge.spec import JobSpec
from worker.machine import settings
from worker.rewards.checkpoints import ModelProcess, checkpoint_rater
from worker.rewards.composite import CompositeScorer, LiveReward
from worker.rewards.declarative import DeclarativeRater
from worker.rewards.endpoint import EndpointRater
from worker.rewards.judge.cache import JudgeCache
from worker.rewards.judge.client import JudgeClient
from worker.rewards.judge.ledger import Ledger
from worker.rewards.judge.rater import JudgeRater, RankingRater
from worker.rewards.multi import MultiRater
from worker.rewards.network import NetworkLoop
from worker.rewards.programs.rater import ProgramRater
from worker.rewards.programs.runner import RunPrograms
from worker.rewards.rater import Rater
from worker.rewards.sandboxed import Call, CodeRater, CodeReward, scoring_threads
from worker.rewards.secrets import Secrets


@dataclass
class RaterServices:
    """Resources that raters share, started on first use."""

    call: Call
    run_programs: RunPrograms
    judges: Mapping[str, Judge] = field(default_factory=dict)
    own_judges: bool = False
    secrets: Secrets = field(default_factory=Secrets)
    ledger: Ledger = field(default_factory=Ledger)
    guard: Guard = field(default_factory=lambda: Guard.allowing(""))
    cache_path: Path | None = None
    checkpoints: Mapping[str, str] | None = None
    shared_models: ModelProcess | None = None
    _clients: dict[str, JudgeClient] = field(default_factory=dict)

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        return scoring_threads()

    @cached_property
    def network(self) -> NetworkLoop:
        return NetworkLoop()

    @cached_property
    def models(self) -> ModelProcess:
        return self.shared_models or ModelProcess()

    @cached_property
    def cache(self) -> JudgeCache:
        return JudgeCache(self.cache_path)

    def judge(self, name: str) -> JudgeClient:
        if name not in self.judges:
            raise unknown_judge(name, self.judges)
        if name not in self._clients:
            judge = self.judges[name]
            key = self.secrets.judges.get(name)
            if key is None and judge.api_key_env is not None:
                key = settings.variable(judge.api_key_env)
            guard = None if self.own_judges else self.guard
            self._clients[name] = JudgeClient(name, judge, key, self.cache, self.ledger, guard)
        return self._clients[name]

    def signing_secret(self, grader: EndpointGrader) -> str | None:
        return settings.variable(grader.secret_env) if grader.secret_env else self.secrets.signing

    def close(self) -> None:
        if "threads" in self.__dict__:
            self.threads.shutdown(wait=False, cancel_futures=True)
        if "network" in self.__dict__:
            self.network.close()
        if "models" in self.__dict__ and self.shared_models is None:
            self.models.close()


def unknown_judge(name: str, judges: Mapping[str, Any]) -> InvalidInput:
    available = f"Judges: {', '.join(sorted(judges))}." if judges else "There are no judges."
    return InvalidInput(
        f"A grader uses the judge {name!r}, which does not exist.",
        code="unknown_judge",
        hint=f"{available} Add one to the project (POST /api/v1/judges), or, offline, to the job file's `judges`.",
    )


def rater(grader: Grader | Part, services: RaterServices, name: str = "reward") -> Rater:
    """Build a grader's rater. Raises InvalidInput for an unknown judge or checkpoint, JobFailure if torch is
    missing.
    """
    if isinstance(grader, StringCheck | TextSimilarity):
        return DeclarativeRater(grader)
    if isinstance(grader, ScoreModel | LabelModel):
        return JudgeRater(grader, services.judge(grader.model), services.network)
    if isinstance(grader, RankingJudge):
        return RankingRater(grader, services.judge(grader.model), services.network)
    if isinstance(grader, PythonGrader):
        return CodeRater(_code_of_part(grader, name), services.call, services.threads)
    if isinstance(grader, EndpointGrader):
        secret = services.signing_secret(grader)
        return EndpointRater(grader, services.network, services.guard, secret)
    if isinstance(grader, ProgramTests):
        return ProgramRater(grader, services.run_programs, services.threads)
    if isinstance(grader, Multi):
        parts = {key: rater(part, services, f"{name}.{key}") for key, part in grader.graders.items()}
        return MultiRater(grader, parts)
    if services.checkpoints is None:
        raise JobFailure(
            f"Rewards of type {grader.type} cannot run here.",
            code="reward_model_unusable",
            hint="They need torch: install the platform's extra [train] on this worker.",
            retryable=True,
        )
    return checkpoint_rater(grader, services.checkpoints, services.models, services.threads)


def live_reward(reward: Reward, code: RewardCode, services: RaterServices) -> LiveReward:
    source = Path(code.path).read_text(encoding="utf-8")
    if code.kind == "grader":
        grader: Grader = grader_of(reward) or parse_grader(source)
        made = rater(grader, services, reward.name)
        granularity = "group" if isinstance(grader, RankingJudge) else "sample"
    else:
        assert isinstance(reward, PythonReward)
        live = _code(reward, code, source, services)
        made, granularity = CodeRater(live, services.call, services.threads), reward.granularity
    return LiveReward(
        name=reward.name,
        weight=reward.weight,
        revision=code.revision,
        on_error=reward.on_error,
        granularity=granularity,  # type: ignore[arg-type]
        rater=made,
    )


def needs_sandbox(manifest: RunManifest) -> bool:
    return any(
        reward.kind == "python" or runs_code(parse_grader(Path(reward.path).read_text(encoding="utf-8")))
        for reward in manifest.rewards
    )


def job_scorer(spec: JobSpec, manifest: RunManifest, services: RaterServices) -> CompositeScorer:
    code = {reward.name: reward for reward in manifest.rewards}
    try:
        live = [live_reward(reward, code[reward.name], services) for reward in spec.rewards]
    except InvalidInput as error:  # the judge or model existed when the job was created
        raise JobFailure(error.message, code=error.code, hint=error.hint, retryable=True) from error
    return CompositeScorer(
        live,
        metrics=services.ledger.metrics,
        state=services.ledger.state,
        close=services.close,
    )


def _code(reward: PythonReward, code: RewardCode, source: str, services: RaterServices) -> CodeReward:
    return CodeReward(
        name=reward.name,
        weight=reward.weight,
        source=source,
        revision=code.revision,
        entry=reward.entry,
        granularity=reward.granularity,
        isolate=reward.isolate,
        on_error=reward.on_error,
        timeout_seconds=reward.timeout_seconds,
        judges={name: rater(grader, services, name) for name, grader in reward.judges.items()},
    )


def _code_of_part(grader: PythonGrader, name: str) -> CodeReward:
    return CodeReward(
        name=name,
        weight=1.0,
        source=grader.source,
        revision="",
        entry=grader.entry,
        granularity="sample",
        isolate=grader.isolate,
        on_error="drop",
        timeout_seconds=grader.timeout_seconds,
    )
