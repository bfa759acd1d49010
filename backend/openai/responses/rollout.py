"""POST /v1/rollout/responses: model calls of a rollout's program in the format of the Responses API."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from backend.access.auth import RolloutCaller
from backend.data.database import DatabaseDep
from backend.data.events import HubDep
from backend.openai.chat.endpoints import STREAMED
from backend.openai.conventions import OpenAIRoute
from backend.openai.responses.request import chat_messages, chat_tools, check_responses_offered
from backend.openai.responses.response import event_frames, model_response
from backend.openai.rollout_calls import STREAM_HEADERS, ask_trainer, chat_payload
from reinforge.schemas.openai_responses import ModelResponse, ResponsesRequest

router = APIRouter(prefix="/v1/rollout", tags=["agents"], route_class=OpenAIRoute)


@router.post(
    "/responses", operation_id="createRolloutResponse", response_model=ModelResponse, responses=STREAMED
)
async def create(
    body: ResponsesRequest, request: Request, database: DatabaseDep, hub: HubDep, rollout: RolloutCaller
) -> Response:
    """Answer a conversation with the policy that is trained, for the rollout whose key the request has.

    Like `chat/completions`, in the format of OpenAI's Responses API. Responses are not stored: `input` is the whole
    conversation, with the reasoning of earlier responses. With `stream` the events arrive in one piece.
    """
    check_responses_offered(body)
    tools = chat_tools(body)
    payload = chat_payload(request, chat_messages(body, tools), tools, body.max_output_tokens)
    response = model_response(body, await ask_trainer(request, database, hub, rollout, payload))
    if not body.stream:
        return Response(response.model_dump_json(), media_type="application/json")
    return StreamingResponse(event_frames(response), media_type="text/event-stream", headers=STREAM_HEADERS)
