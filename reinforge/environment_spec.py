"""`environment:` of a job file: one turn, several turns with tools, or a user's program."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from reinforge.algorithm.base import SpecModel
from reinforge.net.http_fields import checked_address, checked_headers
from reinforge.tools import TOOL_NAME, ToolSchema, ToolSourceError, check_reply, schemas_of, unique_schemas

SINGLE_TURN, TOOLS, AGENT = "single_turn", "tools", "agent"

_KEYS = {"python": "path", "class": "path", "mcp": "url", "openenv": "url"}
"""Short key of a source, as in `- python: tools.py` → field that its value fills."""
USER_FILE = "user.py"
"""Name of the simulated user's code in messages and tracebacks."""
_SENDER_HEADERS = frozenset({"accept", "x-reinforge-rollout"})
_SENDER_PREFIXES = ("mcp-", "sec-websocket-")


class SingleTurnSpec(SpecModel):
    """One prompt, one completion."""

    type: Literal["single_turn"] = "single_turn"


class _JailedSource(SpecModel):
    source: str | None = Field(default=None, max_length=262_144)
    """Inline code."""
    path: str | None = None
    """A `.py` file, relative to the job file, whose code becomes `source`; only for the command line and
    `reinforge train`.
    """
    isolate: Literal["batch", "sample"] = "batch"
    """`sample` runs each rollout's calls in their own process: for tools that execute what the model wrote."""
    timeout_seconds: float = Field(default=2.0, gt=0, le=60)
    """Maximum wall time of one call."""

    @model_validator(mode="after")
    def one_origin(self) -> Self:
        if (self.source is None) == (self.path is None):
            raise ValueError("give exactly one of `source` (code) or `path` (a .py file)")
        return self


class ToolFunctions(_JailedSource):
    """Python code whose public functions are tools; type hints and docstrings are their schemas."""

    type: Literal["python"] = "python"


class ToolClass(_JailedSource):
    """Python code with one public class: `reset(**row)` begins a rollout, its other public methods are tools."""

    type: Literal["class"] = "class"


class SimulatedUserSpec(_JailedSource):
    """Code with `def reply(messages, item, state)`, which returns the user's next message, or None to end."""

    type: Literal["python"] = "python"


class ServerSource(SpecModel):
    """A server that offers tools."""

    url: str = Field(max_length=2048)
    """Address that the worker calls, such as `https://example.com/mcp`; restricted as for judges."""
    include: list[str] = Field(default_factory=list, max_length=128)
    """Names of the tools to offer; default all."""
    headers: dict[str, str] = Field(default_factory=dict, max_length=16)
    """Additional headers, without passwords: they are stored unencrypted. Requests are signed."""
    secret_env: str | None = Field(default=None, pattern=r"^[A-Za-z_]\w{0,99}$")
    """Environment variable with the signing secret, for offline training; servers use the project's."""
    timeout_seconds: float = Field(default=30.0, gt=0, le=300)
    """Maximum wall time of one request."""
    concurrency: int = Field(default=8, ge=1, le=64)
    """Maximum concurrent calls."""
    tools: list[ToolSchema] | None = Field(default=None, max_length=128)
    """Tools that the server lists, filled in when the job is created. If a job file has them, the server must
    list the same tools.
    """

    @field_validator("url")
    @classmethod
    def http_only(cls, value: str) -> str:
        return checked_address(value, "https://example.com/mcp", no_password="requests are signed")

    @field_validator("headers")
    @classmethod
    def plain_headers(cls, value: dict[str, str]) -> dict[str, str]:
        if unusable := [name for name in value if name.lower().startswith(_SENDER_PREFIXES)]:
            raise ValueError(f"the header {unusable[0]} cannot be set: the platform sets it itself")
        return checked_headers(value, own=_SENDER_HEADERS, own_prefix="webhook-")


class McpSource(ServerSource):
    """A server that offers tools by the Model Context Protocol over HTTP."""

    type: Literal["mcp"] = "mcp"


class OpenEnvSource(ServerSource):
    """An environment on an OpenEnv server; `reset` begins a session for each rollout. The policy calls the
    environment's own tools, or one tool that takes the environment's action.
    """

    type: Literal["openenv"] = "openenv"
    action: str = Field(default="step", pattern=TOOL_NAME)
    """Name of the tool that takes the environment's action, unless the environment has tools of its own."""
    columns: list[str] = Field(default_factory=list, max_length=32)
    """Columns of the row that `reset` receives besides `seed` and `episode_id`."""

    @field_validator("columns")
    @classmethod
    def own_columns(cls, value: list[str]) -> list[str]:
        if reserved := sorted({"seed", "episode_id"} & set(value)):
            raise ValueError(f"{reserved[0]} is set by the platform; rename the column")
        return value


def _by_short_key(value: Any) -> Any:
    """Adds the `type` that the discriminated union needs to sources such as `- python: tools.py`."""
    if not isinstance(value, dict) or "type" in value:
        return value
    kinds = [kind for kind in _KEYS if kind in value]
    if len(kinds) != 1:
        return value
    rest = {key: member for key, member in value.items() if key != kinds[0]}
    return {"type": kinds[0], _KEYS[kinds[0]]: value[kinds[0]], **rest}


def _by_python_key(value: Any) -> Any:
    return _by_short_key(value) if isinstance(value, dict) and "python" in value else value


ToolSource = Annotated[
    Annotated[ToolFunctions | ToolClass | McpSource | OpenEnvSource, Field(discriminator="type")],
    BeforeValidator(_by_short_key),
]


class ToolsSpec(SpecModel):
    """Several turns, run by the platform, in which the policy calls tools or talks with a simulated user."""

    type: Literal["tools"]
    sources: list[ToolSource] = Field(default_factory=list, max_length=16)
    """Sources of tools: `- python: tools.py`, `- class: game.py`, or the code as `source`; `- mcp: https://…`,
    `- openenv: https://…`.
    """
    reply: Annotated[SimulatedUserSpec, BeforeValidator(_by_python_key)] | None = None
    """Simulated user, as `python: user.py`: its function `reply` answers each turn that calls no tool."""
    max_turns: int = Field(default=8, ge=1, le=256)
    """Maximum turns of the policy in a rollout, including its answers to a simulated user."""
    max_tool_calls: int = Field(default=16, ge=0, le=4096)
    """Maximum tool calls of a rollout; one call more ends it."""
    max_turn_tokens: int | None = Field(default=None, ge=1, le=1_048_576)
    """Maximum tokens of one turn. Default: no limit other than `rollout.max_completion_tokens`, which counts
    what the policy writes in all turns.
    """
    max_result_tokens: int = Field(default=512, ge=16, le=65_536)
    """Maximum tokens of a result or a user's reply; longer ones are cut in the middle, and the text says so.
    """
    max_context_tokens: int | None = Field(default=None, ge=16, le=1_048_576)
    """Maximum tokens of the prompt and all turns together, including results; a conversation that reaches it
    ends. Default: the model's context; with vLLM, which reserves memory for it, as much as the other limits
    allow.
    """
    invalid_call: Literal["tell", "end"] = "tell"
    """What happens if a call cannot be read or has wrong arguments: the model receives the error as the
    result (`tell`), or the rollout ends.
    """
    tool_failure: Literal["tell", "end", "drop"] = "tell"
    """What happens if a tool fails: the model receives the error as the result (`tell`), the rollout ends, or
    it is dropped from statistics and loss. If `reply` fails, the rollout ends with `end`, else it is dropped.
    """

    @model_validator(mode="after")
    def schemas_exist(self) -> Self:
        by_name: dict[str, tuple[ToolSchema, ...]] = {}
        for number, source in enumerate(self.sources):
            try:
                by_name[source_name(number, source)] = schemas_of_source(number, source)
            except ToolSourceError as error:
                raise _fault(error, f"environment.sources[{number}]") from error
        try:
            unique_schemas(by_name)
        except ToolSourceError as error:
            raise _fault(error, "environment.sources") from error
        return self

    @model_validator(mode="after")
    def user_replies(self) -> Self:
        if self.reply is not None and self.reply.source is not None:
            try:
                check_reply(self.reply.source, file=USER_FILE)
            except ToolSourceError as error:
                raise _fault(error, "environment.reply") from error
        return self

    @property
    def servers(self) -> dict[int, McpSource | OpenEnvSource]:
        """Index in `sources` → source, for the sources that are servers."""
        return {
            number: source
            for number, source in enumerate(self.sources)
            if isinstance(source, McpSource | OpenEnvSource)
        }

    @property
    def runs_code(self) -> bool:
        return self.reply is not None or len(self.servers) < len(self.sources)

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Schemas of all sources' tools, in the order of `sources`. Raises ToolSourceError."""
        return unique_schemas(
            {
                source_name(number, source): schemas_of_source(number, source)
                for number, source in enumerate(self.sources)
            }
        )

    def listing(self, tools: Mapping[int, Sequence[ToolSchema]]) -> "ToolsSpec":
        """A copy with the tools that servers list, by index in `sources`. Raises ToolSourceError
        `tool_name_twice` if two tools share a name.
        """
        sources = [
            source.model_copy(update={"tools": list(tools[number])}) if number in tools else source
            for number, source in enumerate(self.sources)
        ]
        listing = self.model_copy(update={"sources": sources})
        listing.schemas()
        return listing


class AgentSpec(SpecModel):
    """Your own program calls the policy at an OpenAI-compatible address; `reinforge rollout serve` runs it."""

    type: Literal["agent"]
    max_model_calls: int = Field(default=32, ge=1, le=1024)
    """Maximum model calls of a rollout; later ones are answered with 429 `rollout_budget`. What the policy
    writes in all of them counts towards `rollout.max_completion_tokens`.
    """
    max_turn_tokens: int | None = Field(default=None, ge=1, le=1_048_576)
    """Maximum tokens of one answer. Default: no limit other than `rollout.max_completion_tokens`."""
    max_context_tokens: int | None = Field(default=None, ge=16, le=1_048_576)
    """Maximum tokens of a call's messages and its answer; a longer call is refused with
    `context_length_exceeded`. Default: the model's context; with vLLM, which reserves memory for
    it, at most 32,768.
    """
    rollout_seconds: float = Field(default=600.0, ge=1, le=86_400)
    """Maximum wall time of a rollout, from the moment a runner takes it; a longer rollout is dropped from
    statistics and loss.
    """
    heartbeat_seconds: float = Field(default=30.0, ge=2, le=600)
    """Time without a heartbeat after which a runner is lost."""
    lost: Literal["retry_once", "drop"] = "retry_once"
    """What happens to the rollout of a lost runner: any runner tries it once more, or it is dropped."""
    forks: Literal["train", "first_only"] = "train"
    """Which conversations are trained if the calls of a rollout form several, because its program rewrote
    its history, forked, or ran sub-agents. `train`: all; `first_only`: the one with the most tokens of
    the policy. Rewards always read only the one with the most tokens. The rollout counts once in all
    statistics, and its conversations share its advantage. In the loss they together weigh as much as one
    completion: aggregations `seq_mean`, `seq_sum_mean`, `constant`, `lambda` and those of packages count
    the rollout as one completion of their total length; `token_mean` counts each of their tokens once.
    Quantities per completion, such as ratios and a KL of level `sequence`, `off_policy_mask` and
    surrogate `gmpo`, are per conversation.
    """


EnvironmentSpec = Annotated[SingleTurnSpec | ToolsSpec | AgentSpec, Field(discriminator="type")]


def source_name(number: int, source: ToolFunctions | ToolClass | McpSource | OpenEnvSource) -> str:
    if isinstance(source, McpSource | OpenEnvSource):
        return f"{source.type}_{number} ({source.url.partition('?')[0]})"
    return f"{'tools' if source.type == 'python' else 'environment'}_{number}.py"


def schemas_of_source(
    number: int, source: ToolFunctions | ToolClass | McpSource | OpenEnvSource
) -> tuple[ToolSchema, ...]:
    """Schemas of a source's tools; none for a server before its tools are listed."""
    if isinstance(source, McpSource | OpenEnvSource):
        return tuple(source.tools or ())
    return _schemas_of_code(source_name(number, source), source.type, source.source)


@lru_cache(maxsize=64)
def _schemas_of_code(file: str, kind: str, code: str | None) -> tuple[ToolSchema, ...]:
    """Empty for a source with a path."""
    if code is None:
        return ()
    return schemas_of(code, file=file, kind="class" if kind == "class" else "functions")


def _fault(error: ToolSourceError, param: str) -> PydanticCustomError:
    hint = f" {error.hint}" if error.hint else ""
    return PydanticCustomError(error.code, "{fault}", {"fault": f"{error.message}{hint}", "param": param})
