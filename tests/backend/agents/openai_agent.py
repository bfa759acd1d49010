"""Programs of rollouts, as somebody writes them with OpenAI's SDK."""

import json
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
    if task["item"]["prompt"] == "row 7":
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
