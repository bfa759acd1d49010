"""A slot's process: the outcome of a program is read whole, whatever it says."""

from pathlib import Path

import pytest

from reinforge.runner.runner import Slot

TASK = {"base_url": "http://127.0.0.1:9/v1", "api_key": "rf-ro-test"}


def test_a_long_error_in_any_script_is_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "long_error.py").write_text(
        "def agent(task):\n    raise ValueError('\\U0001f600' * 50_000)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    slot = Slot("long_error:agent")
    try:
        slot.start(TASK)
        outcome = slot.outcome(30.0)
    finally:
        slot.kill()
    assert outcome is not None, "the program's process never ended"
    assert outcome["error"].endswith("\U0001f600\n")
