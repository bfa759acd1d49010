"""An environment on a real OpenEnv server, run with the library of `scripts/agent_clients.py openenv`: PORT TOOLS."""

import random
import sys
from typing import Any

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Action, Observation, State


class Guess(Action):
    """Guess the number."""

    number: int


class Hint(Observation):
    hint: str = ""


class Game(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed: int | None = None, episode_id: str | None = None, **columns: Any) -> Hint:
        self.secret = random.Random(seed).randint(1, columns.get("most", 9))
        return Hint(hint=f"Guess a number up to {columns.get('most', 9)}.")

    def step(self, action: Guess, timeout_s: float | None = None, **_: Any) -> Hint:
        if action.number == 0:
            raise ValueError("zero is no guess")
        right = action.number == self.secret
        return Hint(hint="right" if right else "wrong", reward=float(right), done=right)

    @property
    def state(self) -> State:
        return State()


class Calculator(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        tools = FastMCP("calculator")

        @tools.tool
        def add(a: int, b: int) -> int:
            """Add."""
            return a + b

        super().__init__(tools)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Observation:
        return Observation()

    def _step_impl(self, action: Action, timeout_s: float | None = None, **_: Any) -> Observation:
        return Observation()

    @property
    def state(self) -> State:
        return State()


if __name__ == "__main__":
    if sys.argv[2] == "tools":
        app = create_fastapi_app(Calculator, CallToolAction, CallToolObservation, max_concurrent_envs=8)
    else:
        app = create_fastapi_app(Game, Guess, Hint, max_concurrent_envs=8)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
