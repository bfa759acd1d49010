"""A real OpenEnv server speaks what the stub speaks."""

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from reinforge.environment_spec import OpenEnvSource
from scripts.agent_clients import FOLDER, is_installed
from worker.environment.tools.base import ToolEnd, ToolRequest, ToolStart
from worker.environment.tools.openenv import OpenEnvServer
from worker.environment.tools.server import address_of
from worker.rewards.network import NetworkLoop

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not is_installed("openenv"), reason="scripts/agent_clients.py openenv installs it"),
]
SEED = 3
ROW = {"most": 50}


@contextmanager
def connected(kind: str, **fields: Any) -> Iterator[OpenEnvServer]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"PYTHONPATH": str(FOLDER / "openenv")}
    command = [sys.executable, str(Path(__file__).with_name("openenv_game.py")), str(port), kind]
    process = subprocess.Popen(command, env=environment)
    network = NetworkLoop()
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(f"{url}/health", process)
        source = OpenEnvSource(url=url, **fields)
        server = OpenEnvServer(address_of(0, source, None), network, None, source)
        yield server
        server.close()
    finally:
        process.terminate()
        process.wait(20)
        network.close()


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(url, timeout=1, trust_env=False).raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.3)
    raise AssertionError("the server did not start")


def call(
    server: OpenEnvServer, name: str, sample: int = 0, **arguments: Any
) -> tuple[str, str, float | None, bool]:
    request = ToolRequest(0, ROW, 0, name, arguments, "{}", (), SEED, sample)
    (result,) = server.call([request])
    return result.status, result.text, result.reward, result.ended


def test_a_game() -> None:
    secret = random.Random(SEED).randint(1, 50)
    with connected("game", columns=["most"]) as server:
        assert [schema.name for schema in server.schemas] == ["step"]
        assert list(server.schemas[0].function.parameters["properties"]) == ["number"]
        (begun,) = server.start([ToolStart(0, ROW, SEED)])
        assert (begun.status, begun.text) == ("ok", "Guess a number up to 50.")
        assert call(server, "step", number=51) == ("ok", "wrong", 0.0, False)
        assert call(server, "step", number=0) == ("exception", "step: zero is no guess", None, False)
        assert call(server, "step", number="x")[:2] == (
            "bad_arguments",
            "step: Invalid message; number: Input should be a valid integer, unable to parse string as an integer",
        )
        assert call(server, "step", sample=1, number=secret) == ("ok", "right", 1.0, True)
        assert call(server, "step", number=secret) == ("ok", "right", 1.0, True)
        ends = [ToolEnd(n, ROW, (), SEED, n) for n in range(2)]
        assert [reward.value for reward in server.reward(ends, 0)] == [1.0, 1.0]
        server.release(ends)


def test_an_environment_with_tools() -> None:
    with connected("tools") as server:
        assert [schema.name for schema in server.schemas] == ["add"]
        assert server.start([ToolStart(0, ROW, SEED)])[0].text == ""
        assert call(server, "add", a=1, b=2) == ("ok", "3", None, False)
        assert call(server, "add", a=1)[0] == "bad_arguments"
