"""The list of defences that `make proof-defences` takes away: every edit applies, every test is one of the page."""

from pathlib import Path

import pytest

from tests.defences import run

ROOT = Path(__file__).resolve().parents[2]
DEFENCES = run.defences()


@pytest.mark.parametrize("defence", DEFENCES, ids=lambda defence: defence.threat)
def test_the_edit_applies_and_leaves_a_file_that_compiles(defence: run.Defence) -> None:
    text = (ROOT / defence.file).read_text(encoding="utf-8")
    compile(defence.without(text), defence.file, "exec")
    path, _, name = defence.test.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_a_file_is_as_it_was_afterwards(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    defence = run.Defence("it breaks", "a.py", "x = 1", "x = 2", "t")
    with pytest.raises(KeyboardInterrupt), run.taken_away(defence, tmp_path):
        assert (tmp_path / "a.py").read_text() == "x = 2\n"
        raise KeyboardInterrupt
    assert (tmp_path / "a.py").read_text() == "x = 1\n"
    with pytest.raises(ValueError, match="2 times"):
        defence.without("x = 1\nx = 1\n")


OTHER_ENDS = (("assert True", "passed"), ("nothing", "failed"))


@pytest.mark.parametrize(
    ("body", "outcome"),
    [("assert False", "failed"), *(pytest.param(*case, marks=pytest.mark.long) for case in OTHER_ENDS)],
)
def test_what_came_of_a_test(tmp_path: Path, body: str, outcome: str) -> None:
    (tmp_path / "test_one.py").write_text(f"def test_it():\n    {body}\n")
    assert run.outcome(f"{tmp_path}/test_one.py::test_it") == outcome
    assert run.outcome(f"{tmp_path}/test_one.py::test_other").startswith("pytest ended with")
