"""POST /v1/rollout/chat/completions: model calls of a rollout's program, answered by the job's trainer."""

import time
from collections.abc import Iterator
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from backend.access.auth import RolloutCaller
from backend.data.database import DatabaseDep
from backend.data.events import HubDep
from backend.data.ids import new_id
from backend.http import sse
from backend.openai.chat.endpoints import STREAMED
from backend.openai.chat.request import check_offered, checked_messages, checked_tools, unsupported
from backend.openai.chat.response import DONE, written
from backend.openai.conventions import OpenAIRoute
from backend.openai.rollout_calls import STREAM_HEADERS, ask_trainer, chat_payload
from reinforge.schemas.agent_rollouts import ChatAnswer, ChatPayload
from reinforge.schemas.openai_chat import ChatCompletion, ChatMessage, ChatRequest, Choice, Usage

router = APIRouter(prefix="/v1/rollout", tags=["agents"], route_class=OpenAIRoute)

_NOT_IN_ROLLOUTS = {
    "logprobs": "The trainer keeps the log-probabilities of what it samples.",
    "stop": "A turn ends with the model's own end token, after which its chat template continues.",
    "response_format": "The policy that is trained samples freely.",
}


@router.post(
    "/chat/completions",
    operation_id="createRolloutCompletion",
    response_model=ChatCompletion,
    responses=STREAMED,
)
async def create(
    body: ChatRequest, request: Request, database: DatabaseDep, hub: HubDep, rollout: RolloutCaller
) -> Response:
    """Complete a conversation with the policy that is trained, for the rollout whose key the request has.

    `model`, `temperature`, `top_p` and `seed` have no effect: the job's sampling settings apply. 429
    `rollout_budget` if the rollout has used up its model calls or tokens. With `stream` the answer arrives as
    one piece.
    """
    answer = await ask_trainer(request, database, hub, rollout, _payload(body, request))
    completion = _completion(body.model, answer)
    if not body.stream:
        return Response(_written(completion), media_type="application/json")
    frames = _frames(
        completion, include_usage=bool(body.stream_options and body.stream_options.include_usage)
    )
    return StreamingResponse(frames, media_type="text/event-stream", headers=STREAM_HEADERS)


def _payload(body: ChatRequest, request: Request) -> ChatPayload:
    check_offered(body)
    if (body.n or 1) > 1:
        raise unsupported("n", "A model call of a rollout has only one answer.", "Leave n out.")
    for name, why in _NOT_IN_ROLLOUTS.items():
        value = getattr(body, name)
        if value and getattr(value, "type", None) != "text":
            raise unsupported(name, f"{name} is not offered to rollouts.", why)
    messages = checked_messages(body.messages, body.tools)
    tools = checked_tools(body.tools, body.tool_choice)
    return chat_payload(request, messages, tools, body.max_completion_tokens or body.max_tokens)


def _completion(model: str, answer: ChatAnswer) -> ChatCompletion:
    return ChatCompletion(
        id=new_id("chatcmpl-"),
        created=int(time.time()),
        model=model,
        choices=[
            Choice(
                index=0,
                message=RolloutMessage.model_validate(answer.message),
                finish_reason=answer.finish_reason,
            )
        ],
        usage=Usage(
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            total_tokens=answer.prompt_tokens + answer.completion_tokens,
        ),
    )


class RolloutMessage(ChatMessage):
    reasoning_content: str | None = None
    """Reasoning of the model, if its chat template marks it."""


def _written(completion: ChatCompletion) -> bytes:
    value: dict[str, Any] = orjson.loads(written(completion))
    message = completion.choices[0].message
    if isinstance(message, RolloutMessage) and message.reasoning_content:
        value["choices"][0]["message"]["reasoning_content"] = message.reasoning_content
    return orjson.dumps(value)


def _frames(completion: ChatCompletion, *, include_usage: bool) -> Iterator[bytes]:
    value: dict[str, Any] = orjson.loads(_written(completion))
    same = {name: value[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    [choice] = value["choices"]
    delta = {name: part for name, part in choice["message"].items() if part is not None}
    for number, call in enumerate(delta.get("tool_calls", [])):
        call["index"] = number
    end = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": choice["finish_reason"]}
    for part in ({"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}, end):
        yield sse.frame(orjson.dumps(same | {"choices": [part]}))
    if include_usage:
        yield sse.frame(orjson.dumps(same | {"choices": [], "usage": value["usage"]}))
    yield DONE
