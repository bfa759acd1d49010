"""Beginnings of prompts and answers: cut, and storable."""

from typing import Any

import pytest

from reinforge.dataset.prompt_head import answer_head, prompt_head


@pytest.mark.parametrize(
    ("content", "item", "expected"),
    [
        ("1+1=", {"answer": "2"}, ("1+1=", "2")),
        ("1+1=", {"answer": 2}, ("1+1=", "2")),
        ("1+1=", {"answer": ["ä", None]}, ("1+1=", '["ä", null]')),
        ("1+1=", {"answer": None}, ("1+1=", None)),
        ("1+1=", {}, ("1+1=", None)),
        ([{"type": "text"}], {}, ("<user>rendered", None)),
        ("a\0b\ud800", {"answer": "\0"}, ("a\ufffdb?", "\ufffd")),
        ("x" * 1001, {"answer": "y" * 501}, ("x" * 999 + "…", "y" * 499 + "…")),
        ("x" * 1000, {"answer": "y" * 500}, ("x" * 1000, "y" * 500)),
    ],
)
def test_a_head_is_the_last_message_and_the_answer(
    content: Any, item: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    messages = [{"role": "system", "content": "Add."}, {"role": "user", "content": content}]
    assert (prompt_head(messages, "<user>rendered"), answer_head(item)) == expected
