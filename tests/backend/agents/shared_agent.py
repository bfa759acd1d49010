"""A program whose rollouts share a process: OpenAI's asynchronous client, with address and key of the task."""

from typing import Any

from openai import AsyncOpenAI

from reinforge.runner import reads_task


@reads_task
async def converse(task: dict[str, Any]) -> float:
    async with AsyncOpenAI(base_url=task["base_url"], api_key=task["api_key"]) as own:
        messages: list[Any] = list(task["messages"])
        for _ in range(2):
            completion = await own.chat.completions.create(model="policy", messages=messages)
            messages += [completion.choices[0].message, {"role": "user", "content": "Go on"}]
    return 0.25
