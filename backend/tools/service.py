"""Checks of the sources of tools, and tool calls that a worker runs."""

import asyncio
from collections.abc import Iterable, Sequence

from backend.base_models import service as base_models
from backend.data.database import Database
from backend.rpc.client import Calls
from backend.rpc.queued import QueuedServers, QueuedToolRun
from reinforge.environment_spec import McpSource, OpenEnvSource, ToolSource, schemas_of_source, source_name
from reinforge.errors import InvalidInput, Unavailable
from reinforge.schemas.rpc.tools import LIST_TOOLS, RUN_TOOLS
from reinforge.schemas.tools import SourceTool, ToolProblem, ToolRun, ToolRunResult, ToolsCheckResult
from reinforge.tools import ToolSchema, ToolSourceError

LISTING_SECONDS = 20.0
RUN_SECONDS = 120.0


async def check(calls: Calls, project_id: str, sources: Sequence[ToolSource]) -> ToolsCheckResult:
    listings = [_tools(calls, project_id, number, source) for number, source in enumerate(sources)]
    schemas: dict[int, Sequence[ToolSchema]] = {}
    problems: list[ToolProblem] = []
    for number, listing in enumerate(await asyncio.gather(*listings)):
        if isinstance(listing, ToolProblem):
            problems.append(listing)
        else:
            schemas[number] = listing
    problems += _twice(sources, schemas)
    return ToolsCheckResult(
        ok=not problems,
        tools=[SourceTool(source=number, tool=tool) for number, listed in schemas.items() for tool in listed],
        problems=sorted(problems, key=lambda problem: problem.source),
    )


async def run(database: Database, calls: Calls, project_id: str, body: ToolRun) -> ToolRunResult:
    """Raises InvalidInput, Unavailable, StateConflict."""
    request = QueuedToolRun(run=body, project=project_id if body.environment.servers else None)
    if body.model is not None:
        async with database.transaction() as session:
            model = await base_models.get_usable(session, project_id, body.model)
        request = QueuedToolRun(
            **request.model_dump(exclude={"run"}, exclude_unset=True),
            run=body,
            model_source=model.source,
            model_key=model.key,
        )
    return await calls.ask(RUN_TOOLS, request, timeout=RUN_SECONDS)


async def _tools(
    calls: Calls, project_id: str, number: int, source: ToolSource
) -> Sequence[ToolSchema] | ToolProblem:
    try:
        if isinstance(source, McpSource | OpenEnvSource):
            return await _listed(calls, project_id, number, source)
        return _read(number, source)
    except ToolSourceError as error:
        return _problem(number, error, error.reason, error.line)
    except (InvalidInput, Unavailable) as error:
        return _problem(number, error, error.message)


def _read(number: int, source: ToolSource) -> Sequence[ToolSchema]:
    if not isinstance(source, McpSource | OpenEnvSource) and source.source is None:
        raise InvalidInput(
            "A path names a file on your machine, which the server cannot read.",
            code="path_not_allowed",
            hint="Give the code as `source`.",
        )
    return schemas_of_source(number, source)


async def _listed(
    calls: Calls, project_id: str, number: int, source: McpSource | OpenEnvSource
) -> Sequence[ToolSchema]:
    request = QueuedServers(servers={number: source}, project=project_id)
    result = await calls.ask(LIST_TOOLS, request, timeout=LISTING_SECONDS)
    return result.tools.get(number, [])


def _twice(sources: Sequence[ToolSource], schemas: dict[int, Sequence[ToolSchema]]) -> Iterable[ToolProblem]:
    owners: dict[str, int] = {}
    for number, listed in schemas.items():
        for name in [tool.name for tool in listed]:
            if owners.setdefault(name, number) == number:
                continue
            owner = source_name(owners[name], sources[owners[name]])
            yield ToolProblem(
                source=number,
                message=f"The tool {name} is also in {owner}.",
                code="tool_name_twice",
                hint="Rename one of them: a model calls tools by name.",
            )


def _problem(
    source: int, error: InvalidInput | Unavailable, message: str, line: int | None = None
) -> ToolProblem:
    return ToolProblem(source=source, message=message, line=line, code=error.code, hint=error.hint)
