"""Endpoints for agent runners, and for the trainers whose rollouts they run."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from backend.access.auth import Reader, RolloutCaller, Writer, bearer
from backend.access.sender_slots import leave
from backend.agents import model_calls, rollouts, service
from backend.agents.attempts import require_attempt
from backend.agents.model_calls import TrainerAttempt
from backend.data.database import DatabaseDep, Session
from backend.data.events import HubDep
from backend.http.strict_json import StrictRoute, WorkerRoute
from reinforge.schemas.agent_rollouts import (
    AgentTasks,
    AnsweredModelCalls,
    AnswerModelCalls,
    CloseRollouts,
    EndRollout,
    OpenRollouts,
    RolloutCounts,
    TakeModelCalls,
    TakeRollouts,
    TrainerWork,
)

router = APIRouter(tags=["agents"], route_class=StrictRoute)
worker_router = APIRouter(prefix="/worker/v1", tags=["worker API"], route_class=WorkerRoute)


async def _token(request: Request) -> str | None:
    return bearer(request)


Token = Annotated[str | None, Depends(_token)]


@router.post("/api/v1/jobs/{id}/rollouts/take", operation_id="takeRollouts")
async def take_rollouts(
    id: str, body: TakeRollouts, request: Request, database: DatabaseDep, hub: HubDep, who: Writer
) -> AgentTasks:
    """Long poll of a runner: take rollouts of a job with environment `agent`, or none after `wait_seconds`.

    Each rollout has an API key for `/v1/rollout/…`. `/v1/rollout/chat/completions` answers in OpenAI's
    format.
    """
    leave(request)
    return await service.next_tasks(database, hub, who.project_id, id, body, request)


@router.get("/api/v1/jobs/{id}/rollouts", operation_id="countRollouts")
async def count_rollouts(id: str, session: Session, who: Reader) -> RolloutCounts:
    """How many rollouts of a job with environment `agent` wait or run, and the names of its runners."""
    return await rollouts.counts(session, who.project_id, id)


@router.post("/v1/rollout/heartbeat", status_code=204, operation_id="renewRollout")
async def renew_rollout(rollout: RolloutCaller, token: Token, session: Session) -> None:
    """Report that the runner is alive. After 401 or 409 `rollout_ended`, stop the agent."""
    await rollouts.renew(session, rollout, token)


@router.post("/v1/rollout/end", status_code=204, operation_id="endRollout")
async def end_rollout(body: EndRollout, rollout: RolloutCaller, token: Token, session: Session) -> None:
    """End a rollout with a reward or an error, or release it for another runner. Its key is revoked."""
    await rollouts.finish(session, rollout, token, body)


@worker_router.post("/jobs/{id}/rollouts", status_code=204, operation_id="openRollouts")
async def open_rollouts(id: str, body: OpenRollouts, session: Session, token: Token) -> None:
    await require_attempt(session, id, body.attempt, token)
    await rollouts.offer(session, TrainerAttempt(id, body.attempt), body.limits, body.rollouts)


@worker_router.post("/jobs/{id}/rollouts/close", status_code=204, operation_id="closeRollouts")
async def close_rollouts(id: str, body: CloseRollouts, session: Session, token: Token) -> None:
    await require_attempt(session, id, body.attempt, token)
    await rollouts.close(session, TrainerAttempt(id, body.attempt))


@worker_router.post("/jobs/{id}/model-calls/take", operation_id="takeModelCalls")
async def take_model_calls(
    id: str, body: TakeModelCalls, request: Request, database: DatabaseDep, hub: HubDep, token: Token
) -> TrainerWork:
    """Long poll of a trainer: model calls of its rollouts, and rollouts that have ended."""
    return await service.next_work(database, hub, id, token, body, request)


@worker_router.post("/jobs/{id}/model-calls/answers", operation_id="answerModelCalls")
async def answer_model_calls(
    id: str, body: AnswerModelCalls, session: Session, token: Token
) -> AnsweredModelCalls:
    await require_attempt(session, id, body.attempt, token)
    attempt = TrainerAttempt(id, body.attempt)
    return AnsweredModelCalls(abandoned=await model_calls.store_answers(session, attempt, body.answers))
