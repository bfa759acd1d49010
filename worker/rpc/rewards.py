"""RPCs `validate` and `score` for reward code."""

from dataclasses import asdict

from reinforge.dataset import tools_of
from reinforge.grading.multi import runs_code
from reinforge.grading.samples import tool_fields
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.rewards import RewardEntry
from reinforge.schemas.rpc.rewards import (
    CodeScoring,
    LoadError,
    NamedCode,
    NamedGrader,
    ScoreResult,
    ScoreRow,
    ValidatedReward,
    ValidateRequest,
    ValidateResult,
)
from worker.rpc.graders import validate_grader
from worker.rpc.sandbox import proved, unavailable
from worker.sandbox.client import SandboxClient
from worker.sandbox.limits import Timeouts
from worker.sandbox.outcome import RewardRow

_OURS = ("sandbox_unavailable", "sandbox_error")


def validate(sandbox: SandboxClient | None, request: ValidateRequest) -> ValidateResult:
    code = any(isinstance(reward, NamedCode) or runs_code(reward.grader) for reward in request.rewards)
    client, jail = proved(sandbox) if code else (None, None)
    return ValidateResult(rewards=[_validated(client, reward) for reward in request.rewards], jail=jail)


def _validated(client: SandboxClient | None, reward: NamedCode | NamedGrader) -> ValidatedReward:
    if isinstance(reward, NamedGrader):
        return validate_grader(client, reward)
    assert client is not None
    outcome = client.validate(reward.source, entry=reward.entry)
    if outcome.status in _OURS:
        raise unavailable(outcome.message)
    error = None
    if outcome.status != "ok":
        error = LoadError(
            code=outcome.status, message=outcome.message, line=outcome.line, column=outcome.column
        )
    entries = [RewardEntry.model_validate(asdict(entry)) for entry in outcome.entries]
    return ValidatedReward(name=reward.name, entries=entries, error=error)


def score(sandbox: SandboxClient | None, request: CodeScoring) -> ScoreResult:
    client, jail = proved(sandbox)
    seconds = request.timeout_seconds
    outcome = client.score(
        request.source,
        [_row(row) for row in request.rows],
        entry=request.entry,
        granularity=request.granularity,
        timeouts=Timeouts(sample=seconds, call=max(30.0, min(120.0, 2 * seconds))),
    )
    if outcome.status in _OURS:
        raise unavailable(outcome.message)
    load_error = None
    if outcome.status != "ok":
        where = f"line {outcome.line}: " if outcome.line else ""
        load_error = f"{where}{outcome.message}"
    named = {"name": request.name, "revision": request.revision}
    return ScoreResult(
        jail=outcome.jail or jail,
        results=[RewardResult.model_validate(named | asdict(row)) for row in outcome.rows],
        load_error=load_error,
    )


def _row(row: ScoreRow) -> RewardRow:
    tools = tools_of(row.item)
    sample = tool_fields(row.completion, tools) if tools else {}
    return RewardRow(row.prompt, row.completion, row.item, group=0, sample=sample)
