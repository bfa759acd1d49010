"""RPC `list_tools`: tools of servers that a job names."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from reinforge.environment_spec import McpSource, OpenEnvSource
from reinforge.schemas.rpc.base import Rpc, RpcModel
from reinforge.tools import ToolSchema


class ServersRequest(RpcModel):
    servers: dict[int, Annotated[McpSource | OpenEnvSource, Field(discriminator="type")]]
    """By number of the source, which errors name."""
    signing: str | None = Field(default=None, repr=False)


class ServersResult(RpcModel):
    tools: dict[int, list[ToolSchema]]


LIST_TOOLS = Rpc("list_tools", TypeAdapter(ServersRequest), TypeAdapter(ServersResult))
