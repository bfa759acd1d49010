"""The tools in docs/write-tools.md do what the page says."""

import re
from pathlib import Path

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
