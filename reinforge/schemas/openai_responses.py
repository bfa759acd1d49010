"""OpenAI's shapes of `/v1/rollout/responses` (see docs/openai-compatibility.md)."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from reinforge.schemas.common import Request, Response


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Other(BaseModel):
    """Part of a request that is refused, with the name of its type."""

    model_config = ConfigDict(extra="allow")

    type: str


def _tag(tags: dict[str, str], default: str | None = None) -> Discriminator:
    """Tag of a value by its `type`, `other` for types not in `tags`. default: type of a value without one."""

    def tag(value: Any) -> str:
        kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
        return tags.get(default if kind is None and default else str(kind), "other")

    return Discriminator(tag)


# ── Requests ────────────────────────────────────────────────────────────────────────────────────────────────


class InputText(_Part):
    type: Literal["input_text", "output_text", "text"]
    text: str


class OtherPart(_Other): ...


InputPart = Annotated[
    Annotated[InputText, Tag("text")] | Annotated[OtherPart, Tag("other")],
    _tag({"input_text": "text", "output_text": "text", "text": "text"}),
]


class InputMessage(_Part):
    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[InputPart]


class InputFunctionCall(_Part):
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str


class InputFunctionOutput(_Part):
    type: Literal["function_call_output"]
    call_id: str
    output: str | list[InputPart]


class ReasoningText(_Part):
    type: str = "reasoning_text"
    text: str


class InputReasoning(_Part):
    """Reasoning of an earlier response, ignored without `content`."""

    type: Literal["reasoning"]
    content: list[ReasoningText] | None = None


class OtherItem(_Other): ...


InputItem = Annotated[
    Annotated[InputMessage, Tag("message")]
    | Annotated[InputFunctionCall, Tag("function_call")]
    | Annotated[InputFunctionOutput, Tag("function_call_output")]
    | Annotated[InputReasoning, Tag("reasoning")]
    | Annotated[OtherItem, Tag("other")],
    _tag(
        {name: name for name in ("message", "function_call", "function_call_output", "reasoning")}, "message"
    ),
]


class FunctionTool(_Part):
    type: Literal["function"]
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class OtherTool(_Other): ...


ResponsesTool = Annotated[
    Annotated[FunctionTool, Tag("function")] | Annotated[OtherTool, Tag("other")],
    _tag({"function": "function"}),
]


class TextFormat(_Other):
    """Format of the answer: `text`; others are refused."""


class TextOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    format: TextFormat | None = None


class ResponsesRequest(Request):
    model: str = Field(min_length=1, max_length=200)
    """Any name: the policy that is trained answers."""
    input: str | list[InputItem] = Field(min_length=1)
    """A string, or the whole conversation: messages with parts of text, calls of functions, their results,
    reasoning.
    """
    instructions: str | None = None
    """A system message before the input."""
    tools: list[ResponsesTool] | None = Field(default=None, max_length=128)
    """Functions that the model may call, if its chat template supports tools."""
    tool_choice: str | dict[str, Any] | None = None
    max_output_tokens: int | None = Field(default=None, ge=1, le=131_072)
    stream: bool | None = None

    # Without effect on what is sampled here.
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    store: bool | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    stream_options: dict[str, Any] | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: int | None = None
    """Ignored: it limits calls of hosted tools, and there are none."""

    # Refused unless they ask for nothing.
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None
    prompt: dict[str, Any] | None = None
    background: bool | None = None
    context_management: list[dict[str, Any]] | None = None
    truncation: str | None = None
    text: TextOptions | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    include: list[str] | None = None
    moderation: dict[str, Any] | None = None


# ── Answers ─────────────────────────────────────────────────────────────────────────────────────────────────

ItemStatus = Literal["completed", "incomplete"]


class OutputText(Response):
    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[dict[str, Any]] = []
    logprobs: list[dict[str, Any]] = []


class OutputMessage(Response):
    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    status: ItemStatus
    content: list[OutputText]


class OutputFunctionCall(Response):
    id: str
    type: Literal["function_call"] = "function_call"
    status: ItemStatus
    call_id: str
    name: str
    arguments: str
    """JSON, as the model wrote it."""


class ReasoningContent(Response):
    type: Literal["reasoning_text"] = "reasoning_text"
    text: str


class OutputReasoning(Response):
    """Reasoning of the model, if its template marks it."""

    id: str
    type: Literal["reasoning"] = "reasoning"
    summary: list[dict[str, Any]] = []
    content: list[ReasoningContent]
    status: ItemStatus


OutputItem = Annotated[OutputReasoning | OutputMessage | OutputFunctionCall, Field(discriminator="type")]


class InputTokensDetails(Response):
    cached_tokens: int = 0
    cache_write_tokens: int = 0


class OutputTokensDetails(Response):
    reasoning_tokens: int = 0
    """Not counted: always 0."""


class ResponsesUsage(Response):
    input_tokens: int
    input_tokens_details: InputTokensDetails = InputTokensDetails()
    output_tokens: int
    """Sampled tokens, including the end token."""
    output_tokens_details: OutputTokensDetails = OutputTokensDetails()
    total_tokens: int


class IncompleteDetails(Response):
    reason: Literal["max_output_tokens"] = "max_output_tokens"


class PlainText(Response):
    type: Literal["text"] = "text"


class TextSettings(Response):
    format: PlainText = PlainText()


class ModelResponse(Response):
    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Literal["in_progress", "completed", "incomplete"]
    incomplete_details: IncompleteDetails | None = None
    """Set if the answer was cut off, by `max_output_tokens` or by a limit of the job."""
    error: None = None
    instructions: str | None = None
    max_output_tokens: int | None = None
    metadata: dict[str, Any] | None = None
    model: str
    output: list[OutputItem]
    parallel_tool_calls: bool = True
    previous_response_id: None = None
    store: Literal[False] = False
    temperature: None = None
    """Null: the job's value applies."""
    text: TextSettings = TextSettings()
    tool_choice: Literal["auto", "none"] = "auto"
    tools: list[dict[str, Any]] = []
    top_p: None = None
    """Null: the job's value applies."""
    truncation: Literal["disabled"] = "disabled"
    usage: ResponsesUsage | None = None
