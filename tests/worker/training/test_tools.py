"""Rows with tools in a whole job: rewards receive the tool calls."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.rollout.text import Text
from worker.sandbox.outcome import RewardRow

CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'


def test_rewards_see_the_calls_of_rows_that_have_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Text, "completions", lambda self, rows: [f"So: {CALL}" for _ in rows])
    calls: list[RewardRow] = []

    def grade(row: RewardRow) -> float:
        calls.append(row)
        return float(len(calls) % 2)

    rows: list[dict[str, Any]] = [{"prompt": "a", "tools": [{"name": "add"}]}, {"prompt": "b"}]
    spec = small_spec(limits__steps=1, evaluation__rows=0, data__held_out_rows=0, rollout__prompts_per_step=2)
    job = SmallJob(tmp_path / "job", write_tiny_model(tmp_path / "model"), spec, rows=rows, grade=grade)
    assert job.train().outcome == "succeeded"

    with_tools = [row.sample for row in calls if "tools" in row.item]
    assert len(with_tools) == 4
    for sample in with_tools:
        [call] = sample["output_tools"]
        assert call["function"] == {"name": "add", "arguments": '{"a": 1}'}
        assert sample["choices"][0]["message"]["tool_calls"] == [call]
    assert [row.sample for row in calls if "tools" not in row.item] == [{}] * 4
