"""Programs of rollouts, as somebody writes them with OpenAI's SDK."""

import json
import os
import time
from typing import Any

from openai import OpenAI

client = OpenAI()  # when the module is imported: its address and key are those of the rollout
NOTE = {
    "type": "function",
    "function": {
        "name": "note",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}},
    },
}


def play(task: dict[str, Any]) -> float | None:
    if task["item"].get("prompt") == "row 7":
        raise LookupError("row 7 is broken on purpose")
    messages: list[Any] = list(task["messages"])
    while True:
        completion = client.chat.completions.create(model="policy", messages=messages, tools=[NOTE])
        message = completion.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return float(message.content == "done")
        for call in message.tool_calls:
            result = f"noted {json.loads(call.function.arguments).get('number')}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def converse(task: dict[str, Any]) -> float | None:
    """Two turns without tools; some rows break in their own ways."""
    number = task["item"]["n"]
    if number == 1:
        raise LookupError("row 1 is broken on purpose")
    messages: list[Any] = list(task["messages"])
    for _ in range(2):
        completion = client.chat.completions.create(model="policy", messages=messages)
        messages += [completion.choices[0].message, {"role": "user", "content": "Go on"}]
        if number == 2:
            os._exit(3)
    return 0.25


def wait(task: dict[str, Any]) -> None:
    client.chat.completions.create(model="policy", messages=task["messages"])
    time.sleep(60)


RESPONSES_NOTE = {"type": "function", **NOTE["function"]}


def respond(task: dict[str, Any]) -> float | None:
    """The same loop over the Responses API: every other call as a stream."""
    items: list[Any] = list(task["messages"])
    for turn in range(9):
        request = {"model": "policy", "input": items, "tools": [RESPONSES_NOTE]}
        response = streamed(request) if turn % 2 else client.responses.create(**request)
        items += response.output
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return float(response.output_text == "done")
        for call in calls:
            result = f"noted {json.loads(call.arguments).get('number')}"
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
    return None


def streamed(request: dict[str, Any]) -> Any:
    with client.responses.stream(**request) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()
