"""Chat requests, validated and translated to the RPC `sample`."""

import secrets
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.deployments import service as deployments
from backend.deployments.serving import weights
from backend.models import BaseModel
from backend.openai import model_names
from backend.openai.chat import response_format
from backend.rpc.queued import QueuedSampling
from reinforge.dataset import DatasetError, render_messages, row_tools
from reinforge.environment_spec import ToolsSpec
from reinforge.errors import InvalidInput, TooLarge
from reinforge.schemas.openai_chat import ChatRequest
from reinforge.schemas.rpc.sampling import AdapterArchive
from reinforge.tool_calls import prepared

DEFAULT_TOKENS = 4096
MOST_CHARACTERS = 2_000_000
MOST_MESSAGES = 2000
MOST_STOPS = 16
MOST_STOP_CHARACTERS = 200
_REFUSED = {
    "frequency_penalty": "Penalties are not applied here: rewards were measured without them.",
    "presence_penalty": "Penalties are not applied here: rewards were measured without them.",
    "logit_bias": "Tokens cannot be biased here.",
    "functions": "Use `tools`.",
    "function_call": "Use `tools`.",
    "audio": "Models here write text only.",
    "prediction": "Predicted outputs are not offered.",
    "web_search_options": "There is no web search here.",
    "moderation": "Leave it out: nothing is moderated here.",
}


@dataclass(frozen=True)
class ChatCall:
    project_id: str
    name: str
    request: QueuedSampling
    fingerprint: str
    deployment: str | None
    n: int
    logprobs: bool
    tools: list[dict[str, Any]] | None
    environment: ToolsSpec | None = None
    """Environment whose tools the deployment runs."""
    item: dict[str, Any] = field(default_factory=dict)
    """Metadata of the request; the deployment's tools get it in place of a dataset row."""
    turn: int = 0
    """Number of the model's turn in a conversation with the deployment's tools, from 0."""


async def validate_chat(session: AsyncSession, project_id: str, body: ChatRequest) -> ChatCall:
    check_offered(body)
    messages = checked_messages(body.messages, body.tools)
    stop = _stop(body.stop)
    schema = response_format.json_schema(body)
    model, adapter, served = await _weights(session, project_id, body.model)
    environment = served.environment if served is not None else None
    tools = checked_tools(body.tools, body.tool_choice)
    if environment is not None:
        check_runs_tools(body)
        tools = [schema.model_dump() for schema in environment.schemas()] or None
    deployment = None if served is None else served.id
    limit = body.max_completion_tokens or body.max_tokens or DEFAULT_TOKENS
    request = QueuedSampling(
        **weights(model, adapter),
        prompts=[messages],
        samples_per_prompt=body.n or 1,
        max_tokens=limit,
        temperature=1.0 if body.temperature is None else body.temperature,
        top_p=1.0 if body.top_p is None else body.top_p,
        seed=secrets.randbits(48) if body.seed is None else body.seed % 2**63,
        stop=stop,
        top_logprobs=(body.top_logprobs or 0) if body.logprobs else None,
        tools=tools,
        json_schema=schema,
        deployment=deployment,
    )
    sha256 = f"{(model.sha256 or model.id)[:12]}{'' if adapter is None else adapter.sha256[:12]}"
    return ChatCall(
        project_id=project_id,
        name=body.model,
        request=request,
        fingerprint=f"fp_{sha256}",
        deployment=deployment,
        n=body.n or 1,
        logprobs=bool(body.logprobs),
        tools=tools,
        environment=environment,
        item=dict(body.metadata or {}),
    )


async def _weights(
    session: AsyncSession, project_id: str, name: str
) -> tuple[BaseModel, AdapterArchive | None, deployments.Served | None]:
    served = await deployments.serve(session, project_id, name)
    if served is not None:
        return served.model, served.adapter, served
    named_model = await model_names.find(session, project_id, name)
    model = base_models.usable(named_model.base)
    archive, pinned = named_model.weights, named_model.model_sha256
    if archive is None:
        return model, None, None
    if pinned is not None and pinned != model.sha256:
        raise InvalidInput(
            f"The files of {model.id} have changed since {name} was trained.",
            code="model_changed",
            param="model",
            hint="An adapter fits only the weights it was trained on: add the old files as a model of their own.",
        )
    return model, AdapterArchive(sha256=archive.sha256, bytes=archive.bytes, step=archive.step), None


_NOT_WITH_TOOLS = {
    "tools": "The deployment runs the tools of its job.",
    "tool_choice": "The deployment runs the tools of its job.",
    "stop": "A turn ends with the model's own end token.",
    "logprobs": "Log-probabilities cover only one turn.",
    "response_format": "A response format would forbid tool calls.",
}


def check_runs_tools(body: ChatRequest) -> None:
    """Raise InvalidInput for parameters that a deployment with tools does not support."""
    for name, why in _NOT_WITH_TOOLS.items():
        if getattr(body, name):
            raise unsupported(name, f"{body.model} does not offer {name}. {why}", "Leave it out.")
    if (body.n or 1) > 1:
        raise unsupported(
            "n", f"{body.model} runs tools, so a request has only one answer.", "Send the request n times."
        )


def check_offered(body: ChatRequest) -> None:
    for name, why in _REFUSED.items():
        if getattr(body, name):
            raise unsupported(name, f"{name} is not offered.", why)
    if body.modalities and set(body.modalities) != {"text"}:
        raise unsupported("modalities", "Only the modality text is offered.", "Models here write text only.")
    if body.tool_choice not in (None, "auto", "none"):
        raise unsupported(
            "tool_choice",
            "The model cannot be forced to call a tool.",
            "Leave tool_choice out: the model decides.",
        )
    if body.top_logprobs and not body.logprobs:
        raise InvalidInput(
            "top_logprobs needs logprobs.",
            code="invalid_value",
            param="top_logprobs",
            hint="Set logprobs to true.",
        )
    if body.stream_options is not None and not body.stream:
        raise InvalidInput(
            "stream_options needs stream.",
            code="invalid_value",
            param="stream_options",
            hint="Set stream to true, or leave them out.",
        )


def checked_messages(
    messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
) -> list[dict[str, Any]]:
    if len(messages) > MOST_MESSAGES:
        raise TooLarge(
            f"A conversation may have at most {MOST_MESSAGES} messages.",
            code="too_many_messages",
            param="messages",
        )
    total = sum(len(str(item)) for item in [*messages, *(tools or [])])
    if total > MOST_CHARACTERS:
        raise TooLarge(
            f"The messages have {total} characters, at most {MOST_CHARACTERS} are allowed.",
            code="context_length_exceeded",
            param="messages",
        )
    try:
        return prepared(render_messages({"messages": messages}))
    except DatasetError as error:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path)
        message = error.message.replace('"messages"', "The conversation")
        raise InvalidInput(
            message, code=error.code, hint=error.hint, param=place.removeprefix(".") or "messages"
        ) from error


def checked_tools(
    tools: list[dict[str, Any]] | None, choice: str | dict[str, Any] | None
) -> list[dict[str, Any]] | None:
    """None if there are no tools or the model may not call them. Raises InvalidInput `invalid_tools`."""
    try:
        tools = row_tools({"tools": tools})
    except DatasetError as error:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path)
        hint = 'A tool is {"type": "function", "function": {"name": "add", "parameters": {…}}}.'
        raise InvalidInput(
            error.message, code=error.code, hint=hint, param=place.removeprefix(".")
        ) from error
    return None if choice == "none" else tools


def _stop(stop: str | list[str] | None) -> list[str]:
    texts = [stop] if isinstance(stop, str) else stop or []
    if len(texts) > MOST_STOPS or not all(1 <= len(text) <= MOST_STOP_CHARACTERS for text in texts):
        raise InvalidInput(
            f"`stop` may have at most {MOST_STOPS} strings of 1 to {MOST_STOP_CHARACTERS} characters.",
            code="invalid_stop",
            param="stop",
            hint="Leave it out to let the model end by itself.",
        )
    return texts


def unsupported(param: str, message: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code="unsupported_parameter", param=param, hint=hint)
