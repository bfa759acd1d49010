"""Programs of rollouts, as somebody writes them with OpenAI's Agents SDK."""

from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

set_tracing_disabled(True)


@function_tool(strict_mode=False)
def note(number: float = 0.0, why: str = "") -> str:
    """Write a number down.

    Args:
        number: What to write.
        why: The reason.
    """
    return f"noted {number:g} {why}".strip()


async def play(task: dict[str, Any]) -> float:
    """With the Responses API, its default."""
    agent = Agent(name="Clerk", model="policy", tools=[note])
    result = await Runner.run(agent, task["messages"])
    return float(result.final_output == "done")


async def stream(task: dict[str, Any]) -> float:
    """With instructions, and its events."""
    agent = Agent(name="Clerk", instructions="Use the tool.", model="policy", tools=[note])
    result = Runner.run_streamed(agent, task["messages"])
    async for _ in result.stream_events():
        pass
    return float(result.final_output == "done")


async def complete(task: dict[str, Any]) -> float:
    """With chat completions."""
    model = OpenAIChatCompletionsModel("policy", AsyncOpenAI())
    agent = Agent(name="Clerk", model=model, tools=[note])
    result = await Runner.run(agent, task["messages"])
    return float(result.final_output == "done")
