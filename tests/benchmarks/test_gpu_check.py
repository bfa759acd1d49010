"""`make gpu-check` without a GPU: the very script, with sizes that a CPU finishes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpu_check
import pytest
from common.gpu import peer
from common.gpu.job import rows_of
from common.gpu.rows import Row, Setting, at_least, at_most
from common.measure import ROOT
from common.number_reward import grade

from worker.machine.vllm_python import vllm_python


def check(out: Path, *arguments: str, vllm: str = "/nowhere/python") -> tuple[int, dict[str, Any], str]:
    command = [sys.executable, "benchmarks/gpu_check.py", "--device", "cpu", "--tiny", "--out", str(out)]
    environment = os.environ | {"REINFORGE_VLLM_PYTHON": vllm}
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    return done.returncode, json.loads(out.read_text()), done.stdout + done.stderr


@pytest.mark.long
def test_every_section_runs_on_the_cpu(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    rows = [{"question": f"{n}+{n + 1}=", "answer": f"Add them. #### {2 * n + 1:,}"} for n in range(40, 80)]
    data.write_text("\n".join(map(json.dumps, rows)))
    model = ROOT / "worker" / "starter" / "starter-arith"
    status, result, output = check(tmp_path / "out.json", "--model", str(model), "--data", str(data))
    assert status == 0, output
    assert "starter-arith, transformers: held-out reward" in output
    assert list(result["sections"]) == list(gpu_check.SECTIONS)
    for name, section in result["sections"].items():
        assert section["rows"], name
        assert all(row["status"] in ("passed", "waiting") for row in section["rows"]), name
    waiting = [
        row
        for section in result["sections"].values()
        for row in section["rows"]
        if row["status"] == "waiting"
    ]
    assert all(row["note"] and row["value"] is None for row in waiting)
    assert "not measured" in output


@pytest.mark.vllm
def test_the_rows_of_vllm_run_on_the_cpu(tmp_path: Path) -> None:
    python = vllm_python()
    assert python is not None
    status, result, output = check(tmp_path / "out.json", "--only", "vllm", "job", vllm=str(python))
    assert status == 0, output
    rows = [row for section in result["sections"].values() for row in section["rows"]]
    assert {row["status"] for row in rows} == {"passed"}, output
    assert any(row["name"] == "0.5B, vllm: the job succeeds" for row in rows)
    assert any("probe" in row["name"] for row in rows)


def test_rows_of_questions_become_prompts_with_their_final_number(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps({"question": "How many?", "answer": "1,000 + 234 = 1,234\n#### 1,234"}))
    row = json.loads(rows_of(str(data), tmp_path).read_text())
    assert row == {"messages": [{"role": "user", "content": "How many?"}], "answer": "1234"}
    data.write_text(json.dumps({"messages": [], "answer": "4"}))
    assert rows_of(str(data), tmp_path) == data


@pytest.mark.parametrize(
    ("text", "score"),
    [("so 1,234 in all", 1.0), ("first 1234, then 7", 0.0), ("It is 1234.", 1.0), ("none at all", 0.0)],
)
def test_the_last_number_is_the_answer(text: str, score: float) -> None:
    assert grade({"output_text": text}, {"answer": "1234"})["score"] == score


def test_a_peer_that_never_ends_well_is_a_failed_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    monkeypatch.setattr(peer, "_peer", lambda *_: "out of memory")
    rows = list(peer.run(Setting("cpu", True, tmp_path)))
    assert [row.status for row in rows] == ["waiting", "failed"]
    assert rows[0].note == "out of memory"


def test_a_value_that_is_not_a_number_fails() -> None:
    assert at_most("gap", float("nan"), 1.0).status == "failed"
    assert at_least("share", float("nan"), 0.1).status == "failed"
    assert at_most("gap", 0.5, 1.0).status == at_least("share", 0.5, 0.1).status == "passed"


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("raise RuntimeError('no such kernel')", "no such kernel"),
        ("import time; time.sleep(60)", "stopped after"),
        ("import os; os._exit(3)", "3"),
    ],
)
def test_a_section_that_fails_keeps_the_rows_before(
    section: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = section.replace("; ", "\n    ")
    (tmp_path / "broken_section.py").write_text(
        "from common.gpu.rows import Row\n\ndef run(setting):\n    yield Row('first', 'passed')\n    " + lines
    )
    monkeypatch.syspath_prepend(tmp_path)
    options = gpu_check._arguments(["--device", "cpu", "--tiny"])
    section_result = gpu_check.section("broken_section", 8.0, options)
    assert [row["status"] for row in section_result["rows"]] == ["passed", "failed"]
    assert expected in section_result["rows"][1]["note"]


def test_an_architecture_that_fails_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from common.gpu import right

    def rows(name: str, *_: object) -> Iterator[Row]:
        if name == "qwen3":
            raise RuntimeError("no kernel image is available")
        yield Row(name, "passed")

    monkeypatch.setattr(right, "_architecture", rows)
    result_rows = list(right.run(Setting("cpu", True, tmp_path)))
    assert [row.status for row in result_rows] == ["failed", "failed", "passed", "passed"]
    assert "no kernel image" in result_rows[0].note
