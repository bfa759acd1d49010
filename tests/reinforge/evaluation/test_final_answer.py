"""Final answers of completions beside the reference answers of rows."""

from typing import Any

import pytest

from reinforge.evaluation.final_answer import is_right, reference


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5.0),
        ("5", 5.0),
        (" 1,234.50 ", 1234.5),
        ("−3", -3.0),
        ("She has 5 left.\n#### 42", 42.0),
        ("$18", 18.0),
        ("Paris.", "paris"),
        ("", None),
        (None, None),
        (True, None),
        (["a", "b"], None),
        ("a worked solution " * 10, None),
        ("two\nlines", None),
        ("...", None),
    ],
)
def test_a_reference_is_a_number_a_short_text_or_nothing(value: Any, expected: Any) -> None:
    assert reference(value) == expected


@pytest.mark.parametrize(
    ("completion", "expected", "right"),
    [
        ("<answer>15</answer>", 15.0, True),
        ("<answer>15</answer>", 5.0, False),
        ("1 + 2\n<answer>1</answer> no, <answer>3</answer>", 3.0, True),
        ("so \\boxed{42}. 7", 42.0, True),
        ("6 * 7\n#### 42", 42.0, True),
        ("The answer is 42, as 6 * 7.", 7.0, True),
        ("3+4=7", 7.0, True),
        ("It is 1,234.", 1234.0, True),
        ("7 <think>8</think> 9", 9.0, True),
        ("no number", 7.0, False),
        ("", 7.0, False),
        ("It is in France.\nParis.", "paris", True),
        ("Answer: Paris", "paris", True),
        ("Paris or Rome", "paris", False),
        ("", "paris", False),
    ],
)
def test_the_final_answer_is_compared(completion: str, expected: Any, right: bool) -> None:
    assert is_right(completion, expected) is right
