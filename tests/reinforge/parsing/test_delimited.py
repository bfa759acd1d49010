"""Passages between marks, in one pass. A quadratic search of these texts would not end."""

from reinforge.evaluation import final_answer
from reinforge.parsing.delimited import passages
from reinforge.tool_calls import NOTATIONS, openai

MANY = 1_000_000


def test_passages_go_from_an_opening_to_the_next_close() -> None:
    text = "x<a>1</a><a>2<a>3</a></a><a>4"
    assert [passage.inner for passage in passages(text, "<a>", "</a>")] == ["1", "2<a>3"]
    assert [text[p.start : p.end] for p in passages(text, "<a>", "</a>")] == ["<a>1</a>", "<a>2<a>3</a>"]


def test_openings_without_a_close_cost_one_pass() -> None:
    (mark,) = NOTATIONS["hermes"].marks
    for text in (mark * MANY, (mark + "\n" * 9) * MANY):
        assert openai.split(text) == (text, [])
    assert not final_answer.is_right("<answer>" * MANY, "yes")
