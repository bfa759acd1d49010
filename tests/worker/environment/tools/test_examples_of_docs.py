"""The tools in docs/write-tools.md do what the page says."""

import re
from pathlib import Path
from typing import Any

from worker.sandbox import SandboxClient

from .calls import Rollout, environment, functions

PAGE = (Path(__file__).parents[4] / "docs" / "write-tools.md").read_text()
SOURCES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL))


def test_the_cart(sandbox: SandboxClient) -> None:
    tools = functions(sandbox, SOURCES["cart.py"])
    assert [schema.name for schema in tools.schemas[0]] == ["price", "add_to_cart"]
    rollout = Rollout(tools, {"budget": 10})
    assert rollout.call("price", article="book").text == "12"
    assert rollout.call("add_to_cart", article="pen").text == "The cart costs 2."
    failed = rollout.call("add_to_cart", article="book")
    assert (failed.status, failed.text) == ("exception", "ValueError: the cart would cost 14, more than 10")
    assert f"`{failed.text}`" in PAGE
    assert rollout.call("add_to_cart", article="pen", count=4).text == "The cart costs 10."


def test_the_game(sandbox: SandboxClient) -> None:
    rollout = Rollout(environment(sandbox, SOURCES["wordle.py"]), {"words": ["crane"], "level": 1})
    assert rollout.begin.text == "Guess a word of 5 letters."
    assert rollout.call("guess", word="slate").text == "--G-G"
    assert rollout.reward().value == 0.0
    assert rollout.call("guess", word="crane").text == "GGGGG"
    assert rollout.reward().value == 1.0


def test_the_simulated_user() -> None:
    page = (Path(__file__).parents[4] / "docs" / "agents.md").read_text()
    names: dict[str, Any] = {}
    exec(dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", page, re.DOTALL))["user.py"], names)
    state: dict[str, Any] = {}
    texts = ["Is it 5 ?", "Then 9", "no idea", "It is 7"]
    replies = [
        names["reply"]([{"role": "assistant", "content": text}], {"secret": 7}, state) for text in texts
    ]
    assert (replies, state) == (["Higher.", "Lower.", "Guess a number.", None], {"guesses": 4})


def test_rewards_of_steps_as_values_of_turns() -> None:
    names: dict[str, Any] = {}
    exec(SOURCES["turns.py"], names)
    messages: list[dict[str, Any]] = [
        {"role": "user"},
        {"role": "assistant"},
        {"role": "tool", "reward": -0.5},
    ]
    messages += [
        {"role": "tool"},
        {"role": "assistant"},
        {"role": "tool", "reward": 1.0},
        {"role": "assistant"},
    ]
    score = names["grade"]({"environment_reward": 0.5, "messages": messages}, {})
    assert score == {"score": 0.5, "turns": [[-0.5, 0], [1.0, 1], [0.0, 2]]}


def test_values_of_turns() -> None:
    page = (Path(__file__).parents[4] / "docs" / "agents.md").read_text()
    (source,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if '"turns"' in block)
    names: dict[str, Any] = {}
    exec(source, names)
    roles = [("user", None), ("assistant", None), ("tool", "ok"), ("tool", "timeout"), ("assistant", None)]
    messages = [{"role": role} | ({"status": status} if status else {}) for role, status in roles]
    score = names["grade"]({"output_text": " 7\n", "messages": messages}, {"answer": 7})
    assert score == {"score": 1.0, "turns": [[-0.1, 0], [1.0, 1]]}
