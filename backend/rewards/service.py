"""Stores, validates and tests rewards. Only a worker parses or compiles Python."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend import usage
from backend.data.ids import new_id
from backend.models import Reward, RewardRevision, now
from backend.rewards import repository
from backend.rpc.client import Calls
from backend.rpc.queued import QueuedGrading
from reinforge.errors import InvalidInput, NotFound
from reinforge.evaluation.calibration import paid
from reinforge.grading.multi import columns, judges
from reinforge.grading.own_types import RankingJudge
from reinforge.grading.source import is_grader, kind_of, parse_grader
from reinforge.schemas.resources import RewardCreate, RewardSummary, RewardTest, RewardTestResult
from reinforge.schemas.rewards import RewardCheckResult, RewardEntry, RewardProblem
from reinforge.schemas.rpc.base import dump
from reinforge.schemas.rpc.rewards import (
    SCORE,
    VALIDATE,
    CodeScoring,
    LoadError,
    NamedCode,
    NamedGrader,
    ScoreRequest,
    ScoreRow,
    ValidatedReward,
    ValidateRequest,
    ValidateResult,
)
from reinforge.schemas.usage import UsageKind

VALIDATE_SECONDS = 20.0
_SPELLINGS = "Define grade(sample, item), reward_fn(prompt, completion, example) or f(prompts, completions, **columns)."
_AT_A_LINE = "Fix that line; `POST /api/v1/rewards/check` shows whether the source loads."
_SCORE_MARGIN_SECONDS = 15.0
SCORE_SECONDS = 120.0
JUDGED_SECONDS = 270.0
"""Seconds to wait for judges: twice their default timeout; clients wait for 300 s."""


@dataclass(frozen=True)
class RewardSource:
    name: str
    source: str
    entry: str | None
    param: str = "source"


@dataclass(frozen=True)
class Account:
    project_id: str
    source: str = ""


@dataclass(frozen=True)
class LoadedSource:
    """Result of loading a source: its functions as `{name, spelling, line}`, or the error."""

    entries: list[dict[str, Any]]
    error: InvalidInput | None


async def get(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> Reward:
    reward = await repository.find(session, project_id, id, lock=lock)
    if reward is None:
        raise _not_found(id)
    return reward


async def get_revision(
    session: AsyncSession, project_id: str, id: str, revision: int | None = None
) -> tuple[Reward, RewardRevision]:
    reward = await get(session, project_id, id)
    number = reward.revision if revision is None else revision
    stored = await repository.find_revision(session, id, number)
    if stored is None:
        raise NotFound(
            f"The reward {id} has no revision {number}.",
            code="reward_revision_not_found",
            hint=f"Its newest is {reward.revision}.",
        )
    return reward, stored


async def validate(
    calls: Calls, sources: Sequence[RewardSource]
) -> tuple[list[list[dict[str, Any]]], str | None]:
    loaded, jail = await load(calls, sources)
    for result in loaded:
        if result.error is not None:
            raise result.error
    return [result.entries for result in loaded], jail


async def load(
    calls: Calls, sources: Sequence[RewardSource], *, timeout: float = VALIDATE_SECONDS
) -> tuple[list[LoadedSource], str | None]:
    refused: dict[int, InvalidInput] = {}
    definitions = []
    for position, source in enumerate(sources):
        _check_text(source)
        try:
            definitions.append(_definition(source))
        except InvalidInput as error:
            refused[position] = error
    result = ValidateResult(rewards=[])
    if definitions:
        result = await calls.ask(VALIDATE, ValidateRequest(rewards=definitions), timeout=timeout)
    results = iter(result.rewards)
    loaded = [
        LoadedSource([], refused[position]) if position in refused else _loaded(source, next(results))
        for position, source in enumerate(sources)
    ]
    return loaded, result.jail


def _definition(source: RewardSource) -> NamedCode | NamedGrader:
    if is_grader(source.source):
        return NamedGrader(name=source.name, grader=parse_grader(source.source, source.param))
    return NamedCode(name=source.name, source=source.source, entry=source.entry)


def _loaded(source: RewardSource, result: ValidatedReward) -> LoadedSource:
    entries = [dump(entry) for entry in result.entries]
    return LoadedSource(entries, None if result.error is None else invalid_reward(source, result.error))


def columns_read(source: str, entry: str | None, entries: Sequence[dict[str, Any]]) -> set[str]:
    if is_grader(source):
        template_columns = set(columns(parse_grader(source)))
        return template_columns.union(*(function.get("columns") or () for function in entries))
    names = [function["name"] for function in entries]
    called = entry or ("grade" if "grade" in names else names[0] if len(names) == 1 else None)
    return {
        column
        for function in entries
        if function["name"] == called
        for column in function.get("columns") or ()
    }


async def check(calls: Calls, source: str, entry: str | None) -> RewardCheckResult:
    [loaded], jail = await load(calls, [RewardSource("reward", source, entry)])
    if loaded.error is None:
        functions = [RewardEntry.model_validate(function) for function in loaded.entries]
        return RewardCheckResult(ok=True, entries=functions, jail=jail)
    problems = [
        RewardProblem(
            message=detail["message"],
            line=detail["line"],
            column=detail["column"],
            field=detail.get("field") or None,
            hint=None if detail["line"] else loaded.error.hint,
        )
        for detail in loaded.error.errors
    ]
    return RewardCheckResult(ok=False, problems=problems, jail=jail)


def invalid_reward(source: RewardSource, error: LoadError) -> InvalidInput:
    where = f" (line {error.line})" if error.line else ""
    message = error.message or "it cannot be loaded"
    detail = {
        "code": error.code,
        "message": message,
        "line": error.line,
        "column": error.column,
        "param": source.param,
    }
    return InvalidInput(
        f"The reward {source.name!r} cannot be used{where}: {message}",
        code="invalid_reward",
        hint=error.hint or (_AT_A_LINE if error.line else _SPELLINGS),
        param=source.param,
        errors=[detail],
    )


async def create(
    session: AsyncSession, project_id: str, body: RewardCreate, entries: list[dict[str, Any]], created_by: str
) -> Reward:
    reward = Reward(
        id=new_id("rew_"),
        project_id=project_id,
        name=body.name,
        description=body.description,
        granularity=granularity_of(body.text, body.granularity),
        kind=kind_of(body.text),
        revision=1,
        entry=body.entry,
        created_by=created_by,
    )
    session.add(reward)
    await session.flush()
    session.add(_revision(reward, body.text, entries))
    await session.flush()
    return reward


async def keep(
    session: AsyncSession,
    project_id: str,
    name: str,
    source: str,
    entries: list[dict[str, Any]],
    created_by: str,
) -> Reward:
    """Store a source under a name; adds a revision unless the newest one has this source."""
    existing = await repository.find_named(session, project_id, name, "sample")
    if existing is not None:
        return await revise(session, project_id, existing.id, source, None, entries)
    body = RewardCreate(name=name, source=source)
    return await create(session, project_id, body, entries, created_by)


async def keep_content(
    session: AsyncSession,
    project_id: str,
    name: str,
    source: str,
    entries: list[dict[str, Any]],
    created_by: str,
) -> tuple[str, int, bool]:
    """Find or create a reward with this name and source. Returns its id, revision and whether it is new."""
    revision = await repository.find_content(session, project_id, name, source)
    if revision is not None:
        return revision.reward_id, revision.revision, False
    body = RewardCreate(name=name, source=source)
    reward = await create(session, project_id, body, entries, created_by)
    return reward.id, reward.revision, True


async def delete_unused(session: AsyncSession, project_id: str, id: str) -> None:
    await repository.delete_unused(session, project_id, id)


async def revise(
    session: AsyncSession,
    project_id: str,
    id: str,
    source: str,
    entry: str | None,
    entries: list[dict[str, Any]],
) -> Reward:
    reward = await repository.find(session, project_id, id, lock=True)
    if reward is None:
        raise _not_found(id)
    newest = await repository.find_revision(session, id, reward.revision)
    if newest is not None and (newest.source, newest.entry) == (source, entry):
        return reward
    reward.revision += 1
    reward.kind, reward.entry, reward.updated_at = kind_of(source), entry, now()
    session.add(_revision(reward, source, entries))
    await session.flush()
    return reward


async def revisions(session: AsyncSession, reward: Reward) -> list[RewardRevision]:
    return await repository.revisions(session, reward.id)


async def summaries(session: AsyncSession, rewards: list[Reward]) -> list[RewardSummary]:
    ids = [reward.id for reward in rewards]
    counts, errors = await repository.job_counts(session, ids), await repository.error_shares(session, ids)
    views = [RewardSummary.model_validate(reward) for reward in rewards]
    for view in views:
        view.jobs, view.last_used_at = counts.get(view.id, (0, None))
        view.error_share = errors.get(view.id)
    return views


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Reward], bool]:
    return await repository.page(session, project_id, limit=limit, after=after)


async def test(
    calls: Calls,
    source: str,
    entry: str | None,
    granularity: str,
    name: str,
    body: RewardTest,
    account: Account,
) -> RewardTestResult:
    """The result has `load_error` if the source does not load. Raises StateConflict `budget_exceeded`."""
    _check_text(RewardSource(name, source, entry))
    rows = [ScoreRow(completion=row.completion, item=row.item, prompt=row.prompt) for row in body.rows]
    request: ScoreRequest
    timeout = min(SCORE_SECONDS, body.timeout_seconds * len(body.rows) + _SCORE_MARGIN_SECONDS)
    if is_grader(source):
        try:
            grader = parse_grader(source)
        except InvalidInput as error:
            return RewardTestResult(jail=None, results=[], load_error=error.message)
        if judges(grader):
            async with calls.database.transaction() as session:
                await usage.require_budget(session, account.project_id, usage.JUDGING)
        request = QueuedGrading(
            name=name,
            rows=rows,
            grader=grader,
            judge_names=sorted(judges(grader)),
            project=account.project_id,
        )
        timeout = JUDGED_SECONDS if judges(grader) else SCORE_SECONDS
    else:
        request = CodeScoring(
            name=name,
            rows=rows,
            source=source,
            entry=entry,
            granularity=granularity,
            timeout_seconds=body.timeout_seconds,
        )
    result = await calls.ask(SCORE, request, timeout=timeout)
    cost = sum(paid(row.usage) or 0.0 for row in result.results)
    if cost > 0:
        async with calls.database.transaction() as session:
            await usage.add(session, account.project_id, {"judge_spend": cost}, account.source)
    return RewardTestResult(jail=result.jail, results=result.results, load_error=result.load_error)


def kinds_of(source: str) -> frozenset[UsageKind]:
    return usage.JUDGING if is_grader(source) and judges(parse_grader(source)) else frozenset()


def granularity_of(source: str, declared: str) -> str:
    if is_grader(source):
        return "group" if isinstance(parse_grader(source), RankingJudge) else "sample"
    return declared


def _revision(reward: Reward, source: str, entries: list[dict[str, Any]]) -> RewardRevision:
    return RewardRevision(
        reward_id=reward.id,
        revision=reward.revision,
        kind=kind_of(source),
        source=source,
        sha256=hashlib.sha256(source.encode()).hexdigest(),
        entry=reward.entry,
        entries=entries,
    )


def _check_text(source: RewardSource) -> None:
    try:
        size = len(source.source.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput("The source has half a surrogate pair in it.", param=source.param) from error
    if size > 262_144:
        raise InvalidInput(
            f"The source has {size:,} bytes; the limit is 262,144.",
            code="reward_too_large",
            param=source.param,
        )


def _not_found(id: str) -> NotFound:
    return NotFound(
        f"There is no reward {id}.",
        code="reward_not_found",
        hint="`reinforge reward list` shows all.",
    )
