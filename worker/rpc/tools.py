"""RPC `list_tools`: lists the tools of a job's servers."""

from reinforge.net.outbound import Guard
from reinforge.schemas.rpc.tools import ServersRequest, ServersResult
from worker.environment.tools.servers import ToolServers
from worker.machine import settings


def list_tools(request: ServersRequest) -> ServersResult:
    """Raises ToolServerError with the source at fault as `param`."""
    guard = Guard.allowing(settings.allowed_hosts())
    servers = ToolServers(request.servers, guard, secret=lambda _: request.signing)
    try:
        return ServersResult(
            tools={number: list(server.schemas) for number, server in servers.by_number.items()}
        )
    finally:
        servers.close()
