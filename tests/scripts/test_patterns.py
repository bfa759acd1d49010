"""`scripts/patterns.py` finds patterns that take more than linear time, and there is none in the product."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "patterns.py"
_spec = importlib.util.spec_from_file_location("patterns", SCRIPT)
assert _spec is not None and _spec.loader is not None
patterns = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(patterns)


def test_the_product_has_none() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (r're.compile(r"\{\{(.*?)\}\}", re.DOTALL)', "a repeat of any character with more behind it"),
        (r're.search(r"a.*b", text, flags=re.DOTALL)', "a repeat of any character with more behind it"),
        (r're.search(r"(?s)a.*b", text)', "a repeat of any character with more behind it"),
        (r're.match(r"(a+)+$", text)', "an unbounded repeat within another"),
        (r're.match(r"(?:\d+,?)*x", text)', "an unbounded repeat within another"),
        (r're.sub(r"\s*(\s+)x", "", text)', "two repeats in a row that take the same character"),
        (r're.compile(r"\w+[^:]*:")', "two repeats in a row that take the same character"),
        (r're.compile(pattern)', "a pattern that is no constant"),
        (r're.compile(rf"{prefix}a")', "a pattern that is no constant"),
    ],
)  # fmt: skip
def test_a_slow_pattern_is_reported(call: str, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"import re\n\nfound = {call}\n")
    assert [problem.partition(": ")[2] for problem in patterns.problems(file)] == [fault]
    file.write_text(f"import re\n\nfound = {call}  # pattern: our own short text\n")
    assert list(patterns.problems(file)) == []


@pytest.mark.parametrize(
    "pattern",
    [r"[a-z]+:\d+", r"\s*(?:a|b)\s*=", r"\{([^{}]*)\}", r"(?s)a(.*)", r"(\d{1,3}){1,5}", r"'([^']*)'"],
)
def test_a_linear_pattern_is_not(pattern: str) -> None:
    assert list(patterns.faults(pattern, 0)) == []
