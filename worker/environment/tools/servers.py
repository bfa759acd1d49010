"""Connections to a job's tool servers."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reinforge.environment_spec import McpSource, OpenEnvSource
from reinforge.net.outbound import Guard
from worker.environment.tools.mcp import McpServer
from worker.environment.tools.openenv import OpenEnvServer
from worker.environment.tools.recorded import RecordedCalls
from worker.environment.tools.server import ToolServerError, address_of
from worker.rewards.network import NetworkLoop


class ToolServers:
    """Connected servers by index of their source, all on one thread. Raises ToolServerError with the source
    as `param`.
    """

    def __init__(
        self,
        sources: Mapping[int, McpSource | OpenEnvSource],
        guard: Guard | None,
        *,
        secret: Callable[[McpSource | OpenEnvSource], str | None],
        recorded: Path | None = None,
    ) -> None:
        """recorded: file with results of calls, for a resumed job."""
        self.by_number: dict[int, McpServer | OpenEnvServer] = {}
        self._guard, self._secret = guard, secret
        self._recorded = RecordedCalls(recorded)
        self._network = NetworkLoop() if sources else None
        try:
            # All are waited for, so that none that connects later stays open.
            with ThreadPoolExecutor(max(1, len(sources)), thread_name_prefix="servers") as threads:
                list(threads.map(self._connect, sources, sources.values()))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._network is None:
            return
        for server in self.by_number.values():
            server.close()
        self._network.wait(self._close_record())
        self._network.close()
        self._network = None

    def _connect(self, number: int, source: McpSource | OpenEnvSource) -> None:
        assert self._network is not None
        address = address_of(number, source, self._secret(source))
        try:
            if isinstance(source, OpenEnvSource):
                self.by_number[number] = OpenEnvServer(address, self._network, self._guard, source)
                return
            self.by_number[number] = McpServer(
                address, self._network, self._guard, expected=source.tools, recorded=self._recorded
            )
        except ToolServerError as error:
            error.param = f"environment.sources[{number}]"
            raise

    async def _close_record(self) -> None:
        self._recorded.close()
