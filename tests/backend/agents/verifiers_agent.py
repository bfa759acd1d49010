"""A program of rollouts that evaluates a task of verifiers, with a harness that runs its loop in this process."""

import json
import os
from typing import Any

import verifiers.v1 as vf
from openai import AsyncOpenAI
from verifiers.v1.runtimes import ProgramResult

__all__ = ["NoteHarness"]

NOTE = {
    "type": "function",
    "function": {
        "name": "note",
        "parameters": {"type": "object", "properties": {"number": {"type": "number"}}},
    },
}


class NoteHarness(vf.Harness[vf.HarnessConfig]):
    NEEDS_CONTAINER = False

    async def launch(self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, *rest: Any) -> Any:
        client = AsyncOpenAI(base_url=endpoint, api_key=secret)
        messages: list[Any] = [{"role": "user", "content": trace.task.data.prompt}]
        while True:
            completion = await client.chat.completions.create(
                model=ctx.model, messages=messages, tools=[NOTE]
            )
            message = completion.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return ProgramResult(exit_code=0, stdout="", stderr="")
            for call in message.tool_calls:
                result = f"noted {json.loads(call.function.arguments).get('number')}"
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


class NoteTask(vf.Task):
    @vf.reward
    async def right(self, trace: vf.Trace) -> float:
        return float(trace.last_reply == "done")


async def play(task: dict[str, Any]) -> float:
    config = vf.AgentConfig(
        model="policy",
        client=vf.EvalClientConfig(base_url=os.environ["OPENAI_BASE_URL"], api_key_var="OPENAI_API_KEY"),
        harness={"id": "verifiers_agent"},
        runtime={"type": "subprocess"},
    )
    trace = await vf.Agent(config).run(NoteTask(vf.TaskData(prompt=task["messages"][-1]["content"])))
    if not trace.ok:
        raise RuntimeError(trace.errors)
    return float(trace.reward)
