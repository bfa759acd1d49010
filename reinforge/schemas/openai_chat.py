"""OpenAI's shapes of `/v1/chat/completions` (see docs/openai-compatibility.md)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reinforge.schemas.common import Request, Response
from reinforge.tools import CallStatus

FinishReason = Literal["stop", "length", "tool_calls"]


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False
    """Adds a last chunk with token counts and no choices."""


class ResponseFormat(BaseModel):
    model_config = ConfigDict(extra="allow")

    type: str


class ChatRequest(Request):
    model: str = Field(min_length=1, max_length=200)
    """A base model, a job's adapter or checkpoint, or a deployment."""
    messages: list[dict[str, Any]] = Field(min_length=1)
    """Roles system, developer, user, assistant and tool; contents are strings or lists of text parts."""
    n: int | None = Field(default=None, ge=1, le=128)
    max_tokens: int | None = Field(default=None, ge=1, le=131_072)
    max_completion_tokens: int | None = Field(default=None, ge=1, le=131_072)
    """Maximum tokens; default: the rest of the context, at most 4096."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    stop: str | list[str] | None = None
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    """The same seed, model and request give the same completions. Default: random."""
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    logprobs: bool | None = None
    """Return log-probabilities of sampled tokens, including the end token, at the request's
    temperature.
    """
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    tools: list[dict[str, Any]] | None = Field(default=None, max_length=128)
    """Tools; the model's chat template must support them."""
    tool_choice: str | dict[str, Any] | None = None
    response_format: ResponseFormat | None = None
    """`text`, `json_object` or `json_schema`, enforced during sampling."""

    # Without effect on what is sampled here.
    user: str | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None

    # Refused unless they ask for nothing.
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    modalities: list[str] | None = None
    functions: list[dict[str, Any]] | None = None
    function_call: str | dict[str, Any] | None = None
    audio: dict[str, Any] | None = None
    prediction: dict[str, Any] | None = None
    web_search_options: dict[str, Any] | None = None
    moderation: dict[str, Any] | None = None


class TokenAlternative(Response):
    token: str
    logprob: float
    """-9999.0 is minus infinity."""
    bytes: list[int] | None
    """None for tokens without text, such as the end token."""


class TokenLogprob(TokenAlternative):
    top_logprobs: list[TokenAlternative]


class ChoiceLogprobs(Response):
    content: list[TokenLogprob] | None
    refusal: None = None


class FunctionCall(Response):
    name: str
    arguments: str
    """JSON, as the model wrote it."""


class ToolCall(Response):
    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class ChatMessage(Response):
    role: Literal["assistant"] = "assistant"
    content: str | None
    refusal: None = None
    tool_calls: list[ToolCall] | None = None


class Choice(Response):
    index: int
    message: ChatMessage
    logprobs: ChoiceLogprobs | None = None
    finish_reason: FinishReason


class Usage(Response):
    prompt_tokens: int = 0
    """Tokens of the rendered prompt, counted once for all completions."""
    completion_tokens: int = 0
    """Tokens of all completions, including end tokens."""
    total_tokens: int = 0


class TraceMessage(Response):
    """A message of the model, or the result of a tool that the platform ran."""

    role: Literal["assistant", "tool"]
    content: str
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    status: CallStatus | None = None
    """Status of a call: `ok`, or why it failed."""
    milliseconds: float | None = None


class ChatTrace(Response):
    """Messages and calls before the answer of a deployment that runs tools."""

    end: str
    """Why the conversation ended: a finish reason of rollouts."""
    messages: list[TraceMessage]


class ChatCompletion(Response):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    system_fingerprint: str | None = None
    """Identifies the weights: with equal fingerprints a seed gives the same text."""
    trace: ChatTrace | None = None
    """Not part of OpenAI's API; set by deployments that run tools."""
