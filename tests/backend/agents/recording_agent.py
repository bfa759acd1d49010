"""The program of examples/own-program, which also records what the policy answered."""

import json
import os
from pathlib import Path
from typing import Any

import agent


def play(task: dict[str, Any]) -> float:
    answers: list[dict[str, Any]] = []
    create = agent.client.chat.completions.create

    def recording(**request: Any) -> Any:
        completion = create(**request)
        answers.append(completion.choices[0].message.model_dump(include={"content", "tool_calls"}))
        return completion

    agent.client.chat.completions.create = recording
    try:
        return float(agent.play(task))
    finally:
        line = {"step": task["step"], "answers": answers}
        with Path(os.environ["AGENT_ANSWERS"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, sort_keys=True) + "\n")
