"""OpenAI's shapes of `/v1/chat/completions`. What is ignored and what is refused: docs/openai-compatibility.md."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reinforge.schemas.common import Request, Response

FinishReason = Literal["stop", "length", "tool_calls"]


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False
    """A last chunk without choices says how many tokens there were."""


class ResponseFormat(BaseModel):
    model_config = ConfigDict(extra="allow")

    type: str


class ChatRequest(Request):
    model: str = Field(min_length=1, max_length=200)
    """A base model, a job's adapter or checkpoint, or a deployment."""
    messages: list[dict[str, Any]] = Field(min_length=1)
    """Roles system, developer, user, assistant and tool; contents are texts or lists of text parts."""
    n: int | None = Field(default=None, ge=1, le=128)
    max_tokens: int | None = Field(default=None, ge=1, le=131_072)
    max_completion_tokens: int | None = Field(default=None, ge=1, le=131_072)
    """Default: what the context leaves, 4096 at most."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    stop: str | list[str] | None = None
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    """The same seed, model and request give the same completions. Default: another one every time."""
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    logprobs: bool | None = None
    """Log-probabilities of the sampled tokens, the end token included, at the request's temperature."""
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    tools: list[dict[str, Any]] | None = Field(default=None, max_length=128)
    """For models whose chat template has a place for them."""
    tool_choice: str | dict[str, Any] | None = None
    response_format: ResponseFormat | None = None
    """`text`, `json_object` or `json_schema`: completions are held to it while they are sampled."""

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
    """-9999.0 stands for minus infinity."""
    bytes: list[int] | None
    """None for tokens that stand for no text, such as the end token."""


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
    """Tokens of the rendered prompt, counted once for any number of completions."""
    completion_tokens: int = 0
    """Tokens of all completions together, end tokens included."""
    total_tokens: int = 0


class ChatCompletion(Response):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    """As the request named it."""
    choices: list[Choice]
    usage: Usage
    system_fingerprint: str | None = None
    """Names the weights: behind the same fingerprint a seed gives the same text."""
