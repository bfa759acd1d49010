"""Providers of the tools that a job file names."""

from reinforge.environment_spec import ServerSource, ToolsSpec, source_name
from worker.environment.tools.base import PythonSource
from worker.environment.tools.jailed import JailedSource
from worker.environment.tools.runner import ToolProvider
from worker.environment.tools.servers import ToolServers
from worker.sandbox.client import SandboxClient


def tool_providers(
    environment: ToolsSpec, client: SandboxClient | None, servers: ToolServers
) -> dict[str, ToolProvider]:
    """Tool providers by source name. client: needed for sources that are code."""
    providers: dict[str, ToolProvider] = {}
    for number, source in enumerate(environment.sources):
        file = source_name(number, source)
        if isinstance(source, ServerSource):
            providers[file] = servers.by_number[number]
            continue
        assert client is not None
        code = PythonSource(
            file,
            source.source or "",
            kind="class" if source.type == "class" else "functions",
            isolate=source.isolate,
            timeout_seconds=source.timeout_seconds,
        )
        providers[file] = JailedSource(client, code)
    return providers
