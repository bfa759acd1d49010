"""Requests of tests, and tools over one source."""

from typing import Any

from worker.environment.tools.base import (
    PastCall,
    PythonSource,
    ToolEnd,
    ToolRequest,
    ToolResult,
    ToolStart,
    past_call,
)
from worker.environment.tools.jailed import JailedSource
from worker.environment.tools.runner import Tools
from worker.sandbox import SandboxClient


def functions(client: SandboxClient, source: str, **options: Any) -> Tools:
    most = options.pop("most_characters", 4000)
    python = PythonSource("tools.py", source, **{"timeout_seconds": 5.0, **options})
    return Tools({"tools.py": JailedSource(client, python, most_characters=most)})


def environment(client: SandboxClient, source: str, **options: Any) -> Tools:
    return functions(client, source, kind="class", **options)


def request(name: str, rollout: int = 0, **arguments: Any) -> ToolRequest:
    return ToolRequest(rollout, {}, 0, name, arguments, None, (), seed=rollout)


class Rollout:
    """One rollout that calls tools turn by turn, as the loop does."""

    def __init__(self, tools: Tools, item: dict[str, Any] | None = None, seed: int = 0) -> None:
        self.tools, self.item, self.seed = tools, item or {}, seed
        (self.begin,) = tools.start([ToolStart(0, self.item, seed)])
        self.state = self.begin.state
        self.history: tuple[PastCall, ...] = ()

    def call(self, name: str, **arguments: Any) -> ToolResult:
        call = ToolRequest(0, self.item, 0, name, arguments, self.state, self.history, self.seed)
        (result,) = self.tools.run([call])
        self.state, self.history = result.state, (*self.history, past_call(call, result))
        return result

    def reward(self) -> Any:
        (reward,) = self.tools.reward([ToolEnd(0, self.item, self.history, self.seed)])
        return reward
