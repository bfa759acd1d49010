"""Programs of rollouts for the proof of agents. What they measure goes to the file that MEASURED names."""

import asyncio
import json
import os
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from reinforge.runner import reads_task

CALLS = 6
THINK_SECONDS = 1.0
"""Mean time between two calls of an agent: what its tools take."""


async def ask(
    http: httpx.AsyncClient,
    task: dict[str, Any],
    messages: list[Any],
    *,
    retry_count: int = 0,
    timeout: float = 120.0,
) -> Any:
    """The answer's message."""
    response = await http.post(
        f"{task['base_url']}/chat/completions",
        json={"model": "policy", "messages": messages},
        headers={"authorization": f"Bearer {task['api_key']}", "x-stainless-retry-count": str(retry_count)},
        timeout=timeout,
    )
    response.raise_for_status()
    return response.json()["choices"][0]["message"]


@reads_task
async def measured(task: dict[str, Any]) -> float:
    """Several turns, with the seconds of every model call."""
    noise = random.Random(task["rollout_id"])
    messages, seconds = list(task["messages"]), []
    async with httpx.AsyncClient(timeout=60.0) as http:
        for _ in range(CALLS):
            await asyncio.sleep(noise.expovariate(1 / THINK_SECONDS))
            began = time.perf_counter()
            message = await ask(http, task, messages)
            seconds.append(time.perf_counter() - began)
            messages += [message, {"role": "user", "content": "Go on"}]
    note(seconds)
    return 1.0


def kind_of(task: dict[str, Any]) -> str:
    """A tenth of the crowd each dies, sends every call again, and rewrites its history."""
    return {0: "dies", 1: "retries", 2: "rewrites"}.get(task["item"]["n"] % 10, "plain")


async def crowd(task: dict[str, Any]) -> float:
    """Three calls, in a process of its own; notes what it received."""
    kind, messages, received = kind_of(task), list(task["messages"]), []
    async with httpx.AsyncClient(timeout=120.0) as http:
        for number in range(3):
            if kind == "retries":
                with suppress(httpx.TimeoutException):
                    await ask(http, task, messages, timeout=0.05)
            message = await ask(http, task, messages, retry_count=int(kind == "retries"))
            if kind == "dies":
                os._exit(9)
            received.append(message["content"])
            messages += [message, {"role": "user", "content": "Go on"}]
            if kind == "rewrites" and number == 1:
                messages = [messages[0], {"role": "user", "content": "In short"}]
    note({"n": task["item"]["n"], "received": received})
    return 1.0


def note(value: Any) -> None:
    with Path(os.environ["MEASURED"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")
