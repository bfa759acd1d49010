"""`make gpu-check` without a GPU: the very script, with sizes that a CPU finishes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpu_check
import pytest
from common.gpu import job, peer, published, right, sampling, short, update, vllm
from common.gpu.published import rows_of
from common.gpu.rows import NO_GPU, NO_TIME, Row, Setting, at_least, at_most, of_gpu
from common.measure import ROOT
from common.number_reward import grade

from worker.machine.vllm_python import vllm_python

STARTER = ROOT / "worker" / "starter" / "starter-arith"


def check(out: Path, *arguments: str, vllm: str = "/nowhere/python") -> tuple[int, dict[str, Any], str]:
    command = [sys.executable, "benchmarks/gpu_check.py", "--device", "cpu", "--tiny", "--out", str(out)]
    environment = os.environ | {"REINFORGE_VLLM_PYTHON": vllm}
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=850
    )
    return done.returncode, json.loads(out.read_text()), done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.timeout(900)  # all sections: a minute on an idle machine
def test_every_section_runs_on_the_cpu(tmp_path: Path) -> None:
    """Takes a minute: it is the whole script, so that its first run on a GPU is not the first run of any row."""
    data = tmp_path / "rows.jsonl"
    rows = [{"question": f"{n}+{n + 1}=", "answer": f"Add them. #### {2 * n + 1:,}"} for n in range(40, 80)]
    data.write_text("\n".join(map(json.dumps, rows)))
    status, result, output = check(tmp_path / "out.json", "--model", str(STARTER), "--data", str(data))
    assert status == 0, output
    sections = result["sections"]
    assert "starter-arith, engine transformers: the job succeeds" in output
    assert "starter-arith, engine transformers: held-out reward after training" in output
    assert list(sections) == [*gpu_check.SECTIONS, gpu_check.PUBLISHED]
    for name, section in sections.items():
        assert {row["status"] for row in section["rows"]} <= {"passed", "waiting"}, (name, output)
        for row in section["rows"]:
            assert row["value"] is None or row["limit"], f"{row['name']} is a figure, and there is no GPU"
            assert row["note"] or row["status"] == "passed"
    for module in (right, update, peer, sampling, short, vllm, job):
        reached = sections[module.__name__.rpartition(".")[2]]["rows"]
        assert not gpu_check.missing(module.names(), reached)
    for module in (update, sampling, short, vllm, job):
        names = [row["name"] for row in sections[module.__name__.rpartition(".")[2]]["rows"]]
        assert names == module.names()
    assert "not measured" in output


@pytest.mark.parametrize("section", ["right"])
def test_a_section_runs_on_the_cpu(section: str, tmp_path: Path) -> None:
    status, result, output = check(tmp_path / "out.json", "--only", section)
    assert status == 0, output
    rows = result["sections"][section]["rows"]
    assert "passed" in {row["status"] for row in rows} <= {"passed", "waiting"}, output


@pytest.mark.vllm
@pytest.mark.long
@pytest.mark.timeout(900)  # starts vLLM twice
def test_the_rows_of_vllm_run_on_the_cpu(tmp_path: Path) -> None:
    python = vllm_python()
    assert python is not None
    status, result, output = check(tmp_path / "out.json", "--only", "vllm", "job", vllm=str(python))
    assert status == 0, output
    for module in (vllm, job):
        rows = result["sections"][module.__name__.rpartition(".")[2]]["rows"]
        assert [row["name"] for row in rows] == module.names(), output
        assert {row["note"] for row in rows if row["status"] == "waiting"} == {NO_GPU}, output
    passed = {row["name"] for row in result["sections"]["vllm"]["rows"] if row["status"] == "passed"}
    assert vllm.PROBE in passed and vllm.SAMPLES in passed


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
    assert [row.name for row in rows] == peer.names()
    assert [row.status for row in rows] == ["failed", "waiting", "waiting"]
    assert "out of memory" in rows[0].note


def test_sections_take_no_time_from_later_ones_and_end_within_eight_minutes() -> None:
    every = gpu_check.limits(None, on_gpu=True, published=False)
    assert every == gpu_check.SECTIONS and sum(every.values()) < 480
    some = gpu_check.limits(["vllm", "job", "job"], on_gpu=True, published=False)
    assert list(some) == ["vllm", "job"] and sum(some.values()) == gpu_check.TOTAL_SECONDS
    with_model = gpu_check.limits(None, on_gpu=True, published=True)
    assert with_model == every | {"published": gpu_check.PUBLISHED_SECONDS}


def test_a_figure_of_a_tiny_model_is_not_measured(tmp_path: Path) -> None:
    row = at_least("MFU", 0.9, 0.4, engine="e")
    assert of_gpu(row, Setting("cuda", False, tmp_path)) == row
    for setting in (Setting("cpu", True, tmp_path), Setting("cuda", True, tmp_path)):
        waits = of_gpu(row, setting)
        assert (waits.status, waits.value, waits.limit, waits.note) == ("waiting", None, "≥ 0.4", NO_GPU)
        assert waits.details == {"engine": "e", "tiny": 0.9}


def test_where_vllm_is_installed_the_other_engine_gives_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sampling, "no_vllm", lambda _: None)
    rows = list(sampling.run(Setting("cuda", False, tmp_path, whole=True)))
    assert [row.name for row in rows] == sampling.names()
    assert {(row.status, row.value) for row in rows} == {("waiting", None)}
    assert "--only sampling" in rows[0].note


def test_a_job_is_not_begun_without_the_time_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun: list[str] = []
    monkeypatch.setattr(job, "no_vllm", lambda _: None)
    monkeypatch.setattr(job, "_steps", lambda engine, _: begun.append(engine) or [])
    monkeypatch.setattr(job, "_learns", lambda _: begun.append("starter") or [])
    late = Setting("cuda", False, tmp_path, deadline=time.monotonic() + 32)
    rows = list(job.run(late))
    assert begun == ["transformers"]
    assert {row.note for row in rows} == {NO_TIME}
    begun.clear()
    assert not list(job.run(Setting("cuda", False, tmp_path)))
    assert begun == ["vllm", "transformers", "starter"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--model", "/nowhere"], "--model: /nowhere has no config.json"),
        (["--data", "gsm8k"], "--data: these are prompts for the model that --model names"),
        (["--model", str(STARTER), "--data", "/nowhere.jsonl"], "--data: there is no file /nowhere.jsonl"),
    ],
)
def test_a_model_or_prompts_that_do_not_exist_are_refused_at_once(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        gpu_check._arguments(arguments)
    assert reason in capsys.readouterr().err


def test_prompts_that_cannot_be_downloaded_are_a_failed_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreachable(*_: object) -> Path:
        raise OSError("no network")

    monkeypatch.setattr(published, "rows_of", unreachable)
    (row,) = published.run(Setting("cpu", True, tmp_path, STARTER, "gsm8k"))
    assert row.status == "failed" and "no network" in row.note and "--data FILE" in row.note


def test_a_value_that_is_not_a_number_fails() -> None:
    assert at_most("gap", float("nan"), 1.0).status == "failed"
    assert at_least("share", float("nan"), 0.1).status == "failed"
    assert at_most("gap", 0.5, 1.0).status == at_least("share", 0.5, 0.1).status == "passed"


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("raise RuntimeError('no such kernel')", "no such kernel"),
        ("import time; time.sleep(600)", "stopped at its limit"),
        ("import os; os._exit(3)", "status 3"),
    ],
)
def test_a_section_that_ends_early_keeps_its_rows_and_names_the_others(
    section: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "second row"
    lines = section.replace("; ", "\n    ")
    (tmp_path / "broken_section.py").write_text(
        "from common.gpu.rows import Row\n\ndef names():\n    return ['first', 'second']\n\n"
        "def run(setting):\n    yield Row('first: gap', 'passed')\n"
        f"    open({str(marker)!r}, 'w').close()\n    " + lines
    )
    monkeypatch.syspath_prepend(tmp_path)
    if expected.startswith("stopped"):
        monkeypatch.setattr(gpu_check, "_wait", lambda *_: exists(marker))
    options = gpu_check._arguments(["--device", "cpu", "--tiny"])
    rows = gpu_check.section("broken_section", time.monotonic() + 250, options)["rows"]
    assert [(row["name"], row["status"]) for row in rows] == [
        ("first: gap", "passed"),
        ("broken_section", "failed"),
        ("second", "waiting"),
    ]
    assert expected in rows[1]["note"] and "not reached" in rows[2]["note"]


def exists(marker: Path) -> None:
    """The limit comes when the first row is written."""
    while not marker.exists():
        time.sleep(0.02)


def test_an_architecture_that_fails_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def rows(name: str, *_: object) -> Iterator[Row]:
        if name == "qwen3":
            raise RuntimeError("no kernel image is available")
        yield Row(name, "passed")

    monkeypatch.setattr(right, "_architecture", rows)
    result_rows = list(right.run(Setting("cpu", True, tmp_path)))
    statuses = {row.name: row.status for row in result_rows}
    assert statuses == {
        "qwen2": "passed",
        "qwen3/float32": "failed",
        "qwen3/bf16": "failed",
        "llama": "passed",
        "gemma3_text": "passed",
        "qwen3_moe": "passed",
    }
    assert all("no kernel image" in row.note for row in result_rows if row.status == "failed")
