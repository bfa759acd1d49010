"""Prompts in a job's records: each row once, cut, and storable."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from worker.environment.base import Prompt
from worker.training.reporting.prompt_heads import prompt_head


def prompt(content: Any, **item: Any) -> Prompt:
    messages = [{"role": "system", "content": "Add."}, {"role": "user", "content": content}]
    return Prompt(7, item, messages, "<user>rendered", (1,), "hash")


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
    head = prompt_head(prompt(content, **item))
    assert (head.row_index, head.prompt, head.answer) == (7, *expected)


def test_a_job_reports_every_prompt_once_per_split(tmp_path: Path) -> None:
    job = SmallJob(tmp_path / "job", write_tiny_model(tmp_path / "model"), small_spec())
    assert job.train().outcome == "succeeded"
    for split in ("train", "held_out"):
        records = [record for record in job.records("rollouts") if record.split == split]
        reported = [head.row_index for record in records for head in record.prompts]
        assert len(reported) == len(set(reported))
        assert set(reported) == {row.row_index for record in records for row in record.rows}
