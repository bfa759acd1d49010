"""Endpoints for metrics, completions, logs, findings and events."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from backend.access.auth import Reader
from backend.access.quotas import count_stream
from backend.data.database import DatabaseDep, ReadSession, Session
from backend.http.conditional import unchanged
from backend.http.strict_json import StrictRoute
from backend.jobs import repository
from backend.jobs.monitoring import (
    completions,
    event_store,
    findings,
    live_stream,
    metrics,
    search,
    training_checks,
)
from backend.jobs.monitoring.live_frames import LiveJobsDep, event_view
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from reinforge.schemas.common import Page
from reinforge.schemas.findings import FindingEntry
from reinforge.schemas.jobs import (
    Completion,
    CompletionGroup,
    CompletionHits,
    CompletionPage,
    JobEvent,
    LogEntry,
    Metrics,
)
from reinforge.schemas.training_checks import JobTrainingCheck
from reinforge.states import FINAL
from reinforge.tools import Outcome

router = APIRouter(tags=["jobs"], route_class=StrictRoute)

LARGEST = 2**53
Number = Annotated[int, Path(ge=0, le=LARGEST)]
After = Annotated[int, Query(ge=0, le=LARGEST)]
Step = Annotated[int | None, Query(ge=0, le=LARGEST)]
Reward = Annotated[float | None, Query(allow_inf_nan=False)]
Many = Annotated[int, Query(ge=1, le=1000)]


@router.get("/jobs/{id}/metrics", response_model=Metrics, operation_id="getJobMetrics")
async def get_metrics(
    id: str,
    request: Request,
    session: ReadSession,
    who: Reader,
    buckets: Annotated[int | None, Query(ge=2, le=10_000)] = None,
    from_step: Step = None,
    to_step: Step = None,
    key: Annotated[list[str] | None, Query()] = None,
) -> Response:
    """All metric series of a job, in columns. A live stream can continue from `seq`.

    With `buckets`, each series has at most that many points: the last defined one of each bucket of steps,
    with the bucket's minimum and maximum. Repeat `key` for several series. Answers 304 if the `ETag` matches.
    """
    job = await repository.find(session, who.project_id, id)
    metric_filter = metrics.MetricFilter(buckets, from_step, to_step, None if key is None else tuple(key))
    headers = {"cache-control": "private, no-cache", "etag": f'"{metric_filter.etag(id, job.seq)}"'}
    if (not_modified := unchanged(request, headers)) is not None:
        return not_modified
    content, seq = await metrics.read(session, id, metric_filter)
    headers["etag"] = f'"{metric_filter.etag(id, seq)}"'
    return Response(content, media_type="application/json", headers=headers)


@router.get("/jobs/{id}/completions", operation_id="listCompletions")
async def list_completions(
    id: str,
    session: ReadSession,
    who: Reader,
    step: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    split: completions.Split = "train",
    prompt_no: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    sort: completions.Sort | None = None,
    limit: Many = 128,
    offset: After = 0,
) -> CompletionPage:
    """Completions of one step: whole groups by prompt or, with `sort`, single ones."""
    await repository.find(session, who.project_id, id)
    return await completions.list_rows(
        session, id, split=split, step=step, prompt_no=prompt_no, sort=sort, limit=limit, offset=offset
    )


@router.get("/jobs/{id}/completions/search", operation_id="searchCompletions")
async def search_completions(
    id: str,
    session: Session,
    who: Reader,
    q: Annotated[str | None, Query(max_length=500)] = None,
    split: completions.Split | None = None,
    prompt_hash: str | None = None,
    step_from: Step = None,
    step_to: Step = None,
    reward_min: Reward = None,
    reward_max: Reward = None,
    advantage: search.Advantage | None = None,
    finish_reason: str | None = None,
    failed: bool | None = None,
    length_min: Step = None,
    length_max: Step = None,
    turns_min: Step = None,
    turns_max: Step = None,
    tool: Annotated[str | None, Query(max_length=64)] = None,
    tool_status: Outcome | None = None,
    sort: search.Sort = "-step",
    limit: Many = 50,
    after: str | None = None,
) -> CompletionHits:
    """Search the completions of all steps by text and numbers. Filters combine with AND.

    `q` is written as for web searches: `carry "ten ones" -wrong`, `plus or minus`. Terms of letters and
    digits match whole words; others, such as `<think>` or `"12 + 30"`, match literally. Case is
    ignored; the first 2,000 characters are searched. `tool` and `tool_status` must match the same call;
    `error` matches every status but `ok`. Completions without a reward sort last.
    """
    await repository.find(session, who.project_id, id)
    filters = search.Filters(
        q=q,
        split=split,
        prompt_hash=prompt_hash,
        step_from=step_from,
        step_to=step_to,
        reward_min=reward_min,
        reward_max=reward_max,
        advantage=advantage,
        finish_reason=finish_reason,
        failed=failed,
        length_min=length_min,
        length_max=length_max,
        turns_min=turns_min,
        turns_max=turns_max,
        tool=tool,
        tool_status=tool_status,
    )
    return await search.find(session, id, filters, sort=sort, limit=limit, after=after)


@router.get("/jobs/{id}/groups/{split}/{step}/{prompt_no}", operation_id="getGroup")
async def get_group(
    id: str,
    split: completions.Split,
    step: Number,
    prompt_no: Number,
    session: Session,
    cache: ObjectCacheDep,
    who: Reader,
) -> CompletionGroup:
    """The completions of one prompt at one step with the score of each reward, without tokens."""
    job = await repository.find(session, who.project_id, id)
    return await completions.group(session, cache, job, split=split, step=step, prompt_no=prompt_no)


@router.get("/jobs/{id}/completions/{split}/{step}/{prompt_no}/{sample_no}", operation_id="getCompletion")
async def get_completion(
    id: str,
    split: completions.Split,
    step: Number,
    prompt_no: Number,
    sample_no: Number,
    session: Session,
    cache: ObjectCacheDep,
    who: Reader,
) -> Completion:
    """One completion with prompt, dataset row, tokens, log-probabilities, entropies and the scores."""
    job = await repository.find(session, who.project_id, id)
    return await completions.full(
        session, cache, job, split=split, step=step, prompt_no=prompt_no, sample_no=sample_no
    )


@router.get("/jobs/{id}/logs", operation_id="listJobLogs")
async def list_logs(
    id: str, session: Session, who: Reader, after: After = 0, limit: Many = 200
) -> Page[LogEntry]:
    """Log lines, oldest first; `after` is the `seq` of the last line received."""
    await repository.find(session, who.project_id, id)
    lines = await repository.log_lines(session, id, after=after, limit=limit + 1)
    data = [LogEntry.model_validate(line) for line in lines[:limit]]
    more = len(lines) > limit
    return Page(data=data, has_more=more, next_cursor=str(data[-1].seq) if more else None)


@router.get("/jobs/{id}/findings", operation_id="listFindings")
async def list_findings(id: str, session: Session, who: Reader) -> Page[FindingEntry]:
    """Problems of the job: open findings, then resolved ones, the most important first.

    Causes come before their consequences. `remedies` are requests that may help.
    """
    await repository.find(session, who.project_id, id)
    return Page(data=await findings.entries(session, id))


@router.get("/jobs/{id}/training-check", operation_id="getTrainingCheck")
async def get_training_check(id: str, session: Session, who: Reader) -> JobTrainingCheck:
    """Whether the job is learning: the answer, evidence from its curves, and suggested actions.

    Its errors and warnings are also stored as findings.
    """
    return await training_checks.view(session, await repository.find(session, who.project_id, id))


@router.get("/jobs/{id}/events", operation_id="listEvents")
async def list_events(
    id: str, session: Session, who: Reader, after: After = 0, limit: Many = 200
) -> Page[JobEvent]:
    """Events, oldest first; `after` is the `seq` of the last event received."""
    await repository.find(session, who.project_id, id)
    events = await event_store.after(session, id, after, limit + 1)
    data = [JobEvent.model_validate(event_view(event)) for event in events[:limit]]
    more = len(events) > limit
    return Page(data=data, has_more=more, next_cursor=str(data[-1].seq) if more else None)


STREAMED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
    204: {"description": "The job has ended and nothing follows the cursor: do not reconnect."},
}


@router.get(
    "/jobs/{id}/stream", response_class=StreamingResponse, responses=STREAMED, operation_id="streamJob"
)
async def stream_job(
    id: str,
    request: Request,
    database: DatabaseDep,
    live: LiveJobsDep,
    who: Reader,
    after: After = 0,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Live events as server-sent events `batch`, with data `{seq, events}` and id `ftjob-…:SEQ`."""
    position = live_stream.cursor(id, last_event_id, after)
    async with database.transaction() as session:
        job = await repository.find(session, who.project_id, id)
    if job.status in FINAL and position >= job.seq:
        return Response(status_code=204, media_type="text/event-stream")
    count_stream(request)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    body = live_stream.frames(live, id, position)
    return StreamingResponse(body, headers=headers, media_type="text/event-stream")
