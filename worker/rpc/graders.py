"""RPCs `validate` and `score` for graders."""

import asyncio
import importlib.util
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import NoReturn

from reinforge.dataset import tools_of
from reinforge.errors import JobFailure, ReinforgeError
from reinforge.grading import similarity
from reinforge.grading.multi import Grader, checkpoints, leaves, runs_code
from reinforge.grading.own_types import CheckpointGrader
from reinforge.grading.types import PythonGrader, TextSimilarity
from reinforge.net.outbound import Guard
from reinforge.schemas.jobs import RewardResult as JobRewardResult
from reinforge.schemas.rewards import RewardEntry
from reinforge.schemas.rpc.rewards import (
    GraderScoring,
    LoadError,
    NamedGrader,
    ScoreResult,
    ScoreRow,
    ValidatedReward,
)
from worker.machine import settings
from worker.models.sources import ModelStore
from worker.rewards.assemble import RaterServices, rater
from worker.rewards.base import RewardResult, Scorable
from worker.rewards.checkpoints import ModelProcess
from worker.rewards.programs.runner import RunPrograms
from worker.rewards.rater import RewardInput
from worker.rewards.sandboxed import Call, sandbox_call
from worker.rewards.secrets import Secrets
from worker.rpc.sandbox import proved, unavailable
from worker.sandbox.client import SandboxClient
from worker.sandbox.limits import ProgramLimits
from worker.sandbox.outcome import ProgramRun, Validation


def validate_grader(client: SandboxClient | None, reward: NamedGrader) -> ValidatedReward:
    """Validate a grader; returns its parts, with the columns that their code reads."""
    columns: dict[str, list[str]] = {}
    error = _fault(client, reward.grader, columns)
    entries = [
        RewardEntry(name=key or part.type, spelling=part.type, line=None, columns=columns.get(key, []))
        for key, part in leaves(reward.grader).items()
    ]
    return ValidatedReward(name=reward.name, entries=entries, error=error)


def _fault(client: SandboxClient | None, grader: Grader, columns: dict[str, list[str]]) -> LoadError | None:
    for key, part in leaves(grader).items():
        where = f"graders.{key}: " if key else ""
        if isinstance(part, TextSimilarity) and (why := similarity.unavailable(part.evaluation_metric)):
            return _error("unavailable", where + why)
        if isinstance(part, CheckpointGrader) and importlib.util.find_spec("torch") is None:
            return _error("unavailable", f"{where}{part.type} needs torch, which the worker does not have")
        if isinstance(part, PythonGrader):
            assert client is not None
            outcome = client.validate(part.source, entry=part.entry)
            if outcome.status in ("sandbox_unavailable", "sandbox_error"):
                raise unavailable(outcome.message)
            if outcome.status != "ok":
                # The line is the code's, not the JSON's.
                line = f" (line {outcome.line} of its source)" if outcome.line else ""
                return _error(outcome.status, f"{where}{outcome.message}{line}")
            columns[key] = _columns_of(outcome, part.entry)
    return None


def _error(code: str, message: str) -> LoadError:
    return LoadError(code=code, message=message, line=None, column=None)


def _columns_of(outcome: Validation, entry: str | None) -> list[str]:
    called = [candidate for candidate in outcome.entries if entry is None or candidate.name == entry]
    return called[0].columns if len(called) == 1 else []


def grade(
    sandbox: SandboxClient | None, models: ModelStore, process: ModelProcess, request: GraderScoring
) -> ScoreResult:
    grader = request.grader
    client, jail = proved(sandbox) if runs_code(grader) else (None, None)
    try:
        services = _services(client, models, process, request)
    except ReinforgeError as error:  # a missing checkpoint
        return ScoreResult(jail=jail, results=[], load_error=_described(error))
    try:
        results = asyncio.run(_rated(grader, services, [_row(row) for row in request.rows]))
    except JobFailure as error:
        if error.code == "sandbox_unavailable":
            raise unavailable(error.message) from error
        return ScoreResult(jail=jail, results=[], load_error=_described(error))
    except ReinforgeError as error:
        return ScoreResult(jail=jail, results=[], load_error=_described(error))
    finally:
        services.close()
    named = {"name": request.name}
    return ScoreResult(
        jail=jail,
        results=[JobRewardResult.model_validate(asdict(result) | named) for result in results],
        load_error=None,
    )


async def _rated(grader: Grader, services: RaterServices, rows: list[RewardInput]) -> list[RewardResult]:
    return await rater(grader, services).rate(rows)


def _services(
    client: SandboxClient | None, models: ModelStore, process: ModelProcess, request: GraderScoring
) -> RaterServices:
    paths = {name: str(models.resolve(name)) for name in checkpoints(request.grader) if name}
    if request.base_model is not None:
        paths[""] = str(models.resolve(request.base_model, added=True))
    call: Call = _no_code
    run_programs: RunPrograms = _no_programs
    if client is not None:
        call, run_programs = sandbox_call(client), client.run_programs
    return RaterServices(
        call=call,
        run_programs=run_programs,
        judges=request.judges,
        guard=Guard.allowing(settings.allowed_hosts()),
        secrets=Secrets(request.keys, request.signing),
        checkpoints=paths,
        shared_models=process,
    )


def _no_code(*_: object) -> NoReturn:
    raise AssertionError("a grader without code called the sandbox")


def _no_programs(source: str, runs: Sequence[ProgramRun], limits: ProgramLimits) -> NoReturn:
    raise AssertionError("a grader without programs called the sandbox")


def _row(row: ScoreRow) -> RewardInput:
    prompt = row.prompt
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    scorable = Scorable.of_row(row.completion, row.item, messages, tools_of(row.item))
    return RewardInput(replace(scorable, sample={**scorable.sample, **row.sample}), 0)


def _described(error: ReinforgeError) -> str:
    return f"{error.message} {error.hint or ''}".rstrip()
