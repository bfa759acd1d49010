"""Model calls of rollouts' programs in either API format: from a request to the job's trainer and back."""

from typing import Any

from fastapi import Request

from backend.access import sender_slots
from backend.access.auth import bearer
from backend.agents import rollouts
from backend.agents.model_calls import ModelCalls, add
from backend.data.database import Database
from backend.data.events import Hub
from reinforge.errors import BudgetSpent, ReinforgeError
from reinforge.schemas.agent_rollouts import ChatAnswer, ChatPayload

ANSWER_SECONDS = 600.0
STREAM_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}
_BUDGETS = frozenset({"max_model_calls", "max_policy_tokens", "max_branches"})


def chat_payload(
    request: Request,
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]] | None,
    max_tokens: int | None,
) -> ChatPayload:
    retries = request.headers.get("x-stainless-retry-count", "")
    return ChatPayload(
        try_no=0,
        messages=messages,
        tools=tools,
        max_tokens=max_tokens,
        request_id=getattr(request.state, "request_id", None) or "",
        idempotency_key=request.headers.get("idempotency-key"),
        retry_count=int(retries) if retries.isdecimal() else None,
    )


async def ask_trainer(
    request: Request, database: Database, hub: Hub, rollout: str, payload: ChatPayload
) -> ChatAnswer:
    """The trainer's answer to a model call. Raises BudgetSpent `rollout_budget`, StateConflict
    `rollout_ended`, and errors of the trainer.
    """
    async with database.transaction() as session:
        current = await rollouts.open_rollout(session, rollout, bearer(request))
        payload.try_no = current.try_no
        content = payload.model_dump(mode="json")
        call = await add(session, current.attempt, "chat", current.id, content, timeout=ANSWER_SECONDS)
    sender_slots.leave(request)  # it waits for the trainer
    try:
        result = await ModelCalls(database, hub).answer(call, request.is_disconnected)
    except ReinforgeError as error:
        if error.code in _BUDGETS:
            raise BudgetSpent(error.message, code="rollout_budget", hint=error.hint) from error
        raise
    return ChatAnswer.model_validate(result)
