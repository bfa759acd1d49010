"""`environment:` of a job file: what happens around a completion."""

from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from reinforge.algorithm.base import SpecModel
from reinforge.tools import ToolSchema, ToolSourceError, schemas_of, unique_schemas

SINGLE_TURN, TOOLS = "single_turn", "tools"

_LATER = {"mcp": "MCP servers", "openenv": "OpenEnv servers"}


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
    """Wall time of one call."""

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


def _by_short_key(value: Any) -> Any:
    """Reads `- python: tools.py` and `- class: game.py`; a discriminator needs `type`."""
    if not isinstance(value, dict) or "type" in value:
        return value
    for kind, what in _LATER.items():
        if kind in value:
            raise PydanticCustomError(
                "source_not_available",
                "{what} cannot be a source of tools in this version: use `python` or `class`.",
                {"what": what},
            )
    kinds = [kind for kind in ("python", "class") if kind in value]
    if len(kinds) != 1:
        return value
    rest = {key: member for key, member in value.items() if key != kinds[0]}
    return {"type": kinds[0], "path": value[kinds[0]], **rest}


ToolSource = Annotated[
    Annotated[ToolFunctions | ToolClass, Field(discriminator="type")], BeforeValidator(_by_short_key)
]


class ToolsSpec(SpecModel):
    """The policy calls tools over several turns; the platform runs them and the loop."""

    type: Literal["tools"]
    sources: list[ToolSource] = Field(default_factory=list, max_length=16)
    """Where tools come from: `- python: tools.py`, `- class: game.py`, or the code as `source`."""
    max_turns: int = Field(default=8, ge=1, le=256)
    """Turns of the policy in a rollout."""
    max_tool_calls: int = Field(default=16, ge=0, le=4096)
    """Tool calls of a rollout. The rollout ends at the first call beyond."""
    max_turn_tokens: int | None = Field(default=None, ge=1, le=1_048_576)
    """Tokens of one turn; default: no limit but `rollout.max_completion_tokens`, which counts what the policy
    writes in all turns.
    """
    max_result_tokens: int = Field(default=512, ge=16, le=65_536)
    """Tokens of a result; longer ones are cut in the middle, and the text says so."""
    invalid_call: Literal["tell", "end"] = "tell"
    """What a call does that cannot be read, or has wrong arguments: its error is the result, or the rollout ends."""
    tool_failure: Literal["tell", "end", "drop"] = "tell"
    """What a tool does that fails: its error is the result, the rollout ends, or it is dropped from statistics and
    loss.
    """

    @model_validator(mode="after")
    def schemas_exist(self) -> Self:
        _tools(tuple(self._code()))
        return self

    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tools of all sources with code, in order."""
        return _tools(tuple(self._code()))

    def _code(self) -> list[tuple[int, str, str]]:
        return [
            (number, source.type, source.source)
            for number, source in enumerate(self.sources)
            if source.source is not None
        ]


EnvironmentSpec = Annotated[SingleTurnSpec | ToolsSpec, Field(discriminator="type")]


def source_file(number: int, kind: str) -> str:
    """Name of a source in messages and tracebacks."""
    return f"{'tools' if kind == 'python' else 'environment'}_{number}.py"


@lru_cache(maxsize=64)
def _tools(code: tuple[tuple[int, str, str], ...]) -> tuple[ToolSchema, ...]:
    by_file: dict[str, tuple[ToolSchema, ...]] = {}
    for number, kind, source in code:
        file = source_file(number, kind)
        try:
            by_file[file] = schemas_of(source, file=file, kind="class" if kind == "class" else "functions")
        except ToolSourceError as error:
            raise _fault(error, f"environment.sources[{number}]") from error
    try:
        return unique_schemas(by_file)
    except ToolSourceError as error:
        raise _fault(error, "environment.sources") from error


def _fault(error: ToolSourceError, param: str) -> PydanticCustomError:
    hint = f" {error.hint}" if error.hint else ""
    return PydanticCustomError(error.code, "{fault}", {"fault": f"{error.message}{hint}", "param": param})
