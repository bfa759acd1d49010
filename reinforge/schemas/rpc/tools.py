"""RPCs `list_tools` (tools of a job's servers) and `run_tools` (tool calls outside a job)."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from reinforge.environment_spec import McpSource, OpenEnvSource
from reinforge.schemas.rpc.base import Rpc, RpcModel
from reinforge.schemas.tools import ToolRun, ToolRunResult
from reinforge.tools import ToolSchema


class ServersRequest(RpcModel):
    servers: dict[int, Annotated[McpSource | OpenEnvSource, Field(discriminator="type")]]
    """Number of the source in error messages → server."""
    signing: str | None = Field(default=None, repr=False)


class ServersResult(RpcModel):
    tools: dict[int, list[ToolSchema]]


class ToolRunRequest(RpcModel):
    run: ToolRun
    model_source: str | None = None
    """Source of the model that `run` names."""
    hub_token: str | None = Field(default=None, repr=False)
    signing: str | None = Field(default=None, repr=False)


LIST_TOOLS = Rpc("list_tools", TypeAdapter(ServersRequest), TypeAdapter(ServersResult))
RUN_TOOLS = Rpc("run_tools", TypeAdapter(ToolRunRequest), TypeAdapter(ToolRunResult))
