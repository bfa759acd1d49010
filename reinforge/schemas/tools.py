"""Tools of an environment: their schemas, and calls that are run outside a job."""

from typing import Any, Literal

from pydantic import Field, field_validator

from reinforge.environment_spec import ToolSource, ToolsSpec
from reinforge.schemas.common import Request, Response
from reinforge.tools import CallStatus, ToolSchema

MOST_RUN_CALLS = 64
MOST_PAST_CALLS = 512
MOST_ARGUMENTS = 65_536
_MOST_STATE = 1 << 18
"""Maximum characters of `state`: 64 KiB of JSON, which escaping can make longer."""


class ToolsCheck(Request):
    sources: list[ToolSource] = Field(max_length=16)
    """Sources, as in `environment.sources` of a job file."""


class SourceTool(Response):
    source: int
    """Number of its source."""
    tool: ToolSchema


class ToolProblem(Response):
    source: int
    message: str
    line: int | None = None
    """Line, from 1."""
    code: str | None = None
    hint: str | None = None


class ToolsCheckResult(Response):
    """The tools as the model reads them. Without `problems`, a job with these sources has the same tools."""

    object: Literal["tools.check"] = "tools.check"
    ok: bool
    tools: list[SourceTool] = []
    problems: list[ToolProblem] = []


class ToolRunCall(Request):
    name: str = Field(max_length=200)
    arguments: str = Field(default="{}", max_length=MOST_ARGUMENTS)
    """JSON, as a model writes it."""
    error: str | None = Field(default=None, max_length=2000)
    """Why the call cannot run, if the model's text is not a valid call."""


class PastToolCall(Request):
    """A call that ran, as in `ToolRunResult.history`."""

    source: int = Field(ge=0, le=15)
    name: str = Field(max_length=200)
    arguments: dict[str, Any]
    status: CallStatus
    text: str = Field(max_length=32_768)


class ToolRun(Request):
    """The calls of one turn of a conversation."""

    environment: ToolsSpec
    calls: list[ToolRunCall] = Field(default_factory=list, max_length=MOST_RUN_CALLS)
    item: dict[str, Any] = Field(default_factory=dict)
    """The row of the dataset."""
    model: str | None = Field(default=None, max_length=200)
    """Base model whose tokens `max_result_tokens` counts; without it, results above 16,384 characters are cut
    in the middle.
    """
    start: bool = False
    """Begin the conversation by `reset` of classes, which returns text for the end of the prompt."""
    score: bool = False
    """End the conversation by `get_reward` of classes."""
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    """Seed, the same in all turns of a conversation."""
    turn: int = Field(default=0, ge=0, le=255)
    calls_before: int = Field(default=0, ge=0, le=8192)
    """Number of calls in earlier turns."""
    state: str | None = Field(default=None, max_length=_MOST_STATE)
    history: list[PastToolCall] = Field(default_factory=list, max_length=MOST_PAST_CALLS)
    """Send `state` and `history` of the previous result."""

    @field_validator("environment")
    @classmethod
    def code_is_here(cls, value: ToolsSpec) -> ToolsSpec:
        if not value.sources:
            raise ValueError("give at least one source")
        if any(source.type == "openenv" for source in value.sources):
            raise ValueError(
                "an OpenEnv server needs a rollout, which only jobs have: leave such sources out"
            )
        if any(source.type in ("python", "class") and source.source is None for source in value.sources):
            raise ValueError(
                "the server cannot read `path`, a file on your computer: give the code as `source`"
            )
        return value


class ToolRunCallResult(Response):
    id: str
    name: str
    arguments: str
    status: CallStatus
    result: str = ""
    """Text as the model reads it."""
    cut: bool = False
    """Whether `result` is shortened to `max_result_tokens`."""
    milliseconds: float = 0.0
    detail: str | None = None
    """Traceback and prints."""


class ToolStartResult(Response):
    status: CallStatus
    text: str = ""
    """Text that `reset` returned, for the end of the prompt; or why it failed."""


class ToolScore(Response):
    status: CallStatus
    value: float | None = None
    """Return value of `get_reward`; None if there is no such method."""
    message: str | None = None


class ToolRunResult(Response):
    object: Literal["tools.run"] = "tools.run"
    jail: str | None = None
    """None if no code ran."""
    calls: list[ToolRunCallResult] = []
    start: ToolStartResult | None = None
    score: ToolScore | None = None
    end: str | None = None
    """Why a job's rollout would end with this turn: a finish reason."""
    finding: str | None = None
    """`tool_not_deterministic`: a repeated call returned something else."""
    state: str | None = None
    history: list[PastToolCall] = []
