"""Checks a job's environment and lists its tools."""

from collections.abc import Iterator, Sequence
from typing import Any

from backend.models import Dataset
from backend.rpc.client import Calls
from backend.rpc.queued import QueuedServers
from reinforge.dataset import item_columns
from reinforge.dataset.tools import COLUMN
from reinforge.environment_spec import McpSource, OpenEnvSource, ToolsSpec
from reinforge.errors import InvalidInput
from reinforge.schemas.rpc.tools import LIST_TOOLS
from reinforge.spec import JobSpec
from reinforge.tools import ToolSourceError

NOT_CONTINUABLE = "template_not_continuable"
LISTING_SECONDS = 20.0


def environment_problems(spec: JobSpec, tables: Sequence[Dataset]) -> Iterator[InvalidInput]:
    environment = spec.environment
    if not isinstance(environment, ToolsSpec):
        return
    for number, source in enumerate(environment.sources):
        if not isinstance(source, McpSource | OpenEnvSource) and source.source is None:
            yield _unreadable(f"environment.sources[{number}].path")
        if isinstance(source, OpenEnvSource):
            yield from _missing_columns(source, number, spec, tables)
    if environment.reply is not None and environment.reply.source is None:
        yield _unreadable("environment.reply.path")
    for table in tables:
        if any(column["name"] == COLUMN for column in table.columns):
            yield InvalidInput(
                f"The rows of {table.name} have tools, which cannot be combined with the job's tools.",
                code="tools_twice",
                param="environment.type",
                hint=f"Rename the column `{COLUMN}`, or use environment `single_turn`.",
            )


async def with_listed_tools(spec: JobSpec, project_id: str, calls: Calls) -> JobSpec:
    """Add the tools that the servers list to the specification."""
    environment = spec.environment
    if not isinstance(environment, ToolsSpec) or not (servers := environment.servers):
        return spec
    request = QueuedServers(servers=servers, project=project_id)
    result = await calls.ask(LIST_TOOLS, request, timeout=LISTING_SECONDS)
    if result.tools.keys() != servers.keys():
        raise LIST_TOOLS.malformed_result("it lists the tools of other servers")
    try:
        listing = environment.listing(result.tools)
    except ToolSourceError as error:
        error.param = "environment.sources"
        raise
    return spec.model_copy(update={"environment": listing})


def tools_of(spec: JobSpec) -> list[dict[str, Any]] | None:
    environment = spec.environment
    if not isinstance(environment, ToolsSpec):
        return None
    return [schema.model_dump() for schema in environment.schemas()] or None


def has_reply(spec: JobSpec) -> bool:
    return isinstance(spec.environment, ToolsSpec) and spec.environment.reply is not None


def _missing_columns(
    source: OpenEnvSource, number: int, spec: JobSpec, tables: Sequence[Dataset]
) -> Iterator[InvalidInput]:
    for table in tables:
        columns = [str(column["name"]) for column in table.columns]
        for name in sorted(set(source.columns) - set(item_columns(columns, spec.data.columns))):
            yield InvalidInput(
                f"The environment reads the column {name}, but {table.name} has no such column.",
                code="unknown_column",
                param=f"environment.sources[{number}].columns",
                hint=f"The data has: {', '.join(columns)[:400]}.",
            )


def _unreadable(param: str) -> InvalidInput:
    return InvalidInput(
        "The server cannot read the file that `path` names, because it is on your computer.",
        code="path_not_allowed",
        param=param,
        hint="Give the code as `source`. The command line does this itself for files next to the job file.",
    )


def no_place_for_tools(model: str) -> InvalidInput:
    return InvalidInput(
        f"The chat template of {model} has no place for tools.",
        code=NOT_CONTINUABLE,
        param="environment.type",
        hint="Use a model that was trained to call tools, or environment `single_turn`.",
    )
