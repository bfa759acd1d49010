"""The demo's reward pays for the right sum between the tags, and for nothing else."""

import runpy
from collections.abc import Callable

import pytest

Grade = Callable[[dict[str, str], dict[str, str]], dict[str, object]]


@pytest.fixture
def grade(request: pytest.FixtureRequest) -> Grade:
    return runpy.run_path(str(request.config.rootpath / "examples" / "arithmetic" / "reward.py"))["grade"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("completion", "score", "reason"),
    [
        ("<answer>132</answer>", 1.0, "right"),
        ("<think>7+5=12,4+8+1=13</think><answer>132</answer>", 1.0, "right"),
        ("<answer>122</answer>", 0.0, "wrong sum: 122, expected 132"),
        ("<answer>132</answer><answer>122</answer>", 0.0, "wrong sum: 122, expected 132"),
        ("132", 0.0, "no <answer> found"),
        ("<answer>132", 0.0, "no <answer> found"),
        ("", 0.0, "no <answer> found"),
    ],
)
def test_grade(grade: Grade, completion: str, score: float, reason: str) -> None:
    assert grade({"output_text": completion}, {"answer": "132"}) == {"score": score, "reason": reason}
