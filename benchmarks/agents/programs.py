"""Programs of rollouts for the proof of agents. They share a process, whose file of latencies MEASURED names."""

import asyncio
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import httpx

from reinforge.runner import reads_task

CALLS = 6
THINK_SECONDS = 1.0
"""Mean time between two calls of an agent: what its tools take."""


async def ask(http: httpx.AsyncClient, task: dict[str, Any], messages: list[Any], **headers: str) -> Any:
    """The answer's message."""
    response = await http.post(
        f"{task['base_url']}/chat/completions",
        json={"model": "policy", "messages": messages},
        headers={"authorization": f"Bearer {task['api_key']}"} | headers,
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
    with Path(os.environ["MEASURED"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(seconds) + "\n")
    return 1.0
