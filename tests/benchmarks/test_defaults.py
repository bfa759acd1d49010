"""The benchmark of the default learning rate: its cells, what it concludes from runs, and one cell in small."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import defaults
import pytest
import torch
from common import default_page
from common.default_cells import (
    EVERY,
    FACTORS,
    FIRST_STOP,
    LATER_STOP,
    LEAST,
    RULE,
    STEPS,
    Cell,
    diverged,
    limit,
    outcome,
    verdict,
)
from common.folder import Series
from common.learned import ACCURACY
from common.runs import Result
from common.task_rows import TASKS, task_data

from reinforge.base_models.learning_rate import INITIAL, SCALE, auto_initial_learning_rate, auto_learning_rate
from reinforge.spec import JobSpec
from worker.starter import CHECKPOINT
from worker.starter.corpus import habits, is_held_out
from worker.starter.pretrain import PretrainPhase

CELL = Cell(128, "additions", "grpo")
RATES = {factor: (factor or 1.0) * auto_learning_rate(128) for factor in FACTORS}


def run(values: Sequence[float], *, ended: str = "succeeded") -> Result:
    """Evaluated every second step."""
    series = Series.of((EVERY * number, {ACCURACY: value}) for number, value in enumerate(values))
    step = EVERY * (len(values) - 1)
    return Result(name="a", seed=0, digest="", outcome=ended, step=step, held_out=series)


def learns(at: int, *, past: int = 10) -> Result:
    """Reaches the level at this step."""
    return run([0.5] * (at // EVERY) + [0.95] * past)


def test_there_are_eighteen_cells_and_one_that_is_checked() -> None:
    cells = defaults.cells()
    assert len({cell.name for cell in cells}) == len(cells) == 18
    assert (defaults.CHECKED_CELL.width, len(defaults.CHECKED_CELL.factors)) == (512, 4)
    assert set(FACTORS) == {RULE, 0.25, 0.5, 1, 2, 4}


@pytest.mark.parametrize("cell", [*defaults.cells((64,)), defaults.CHECKED_CELL])
def test_every_job_is_valid_and_asks_for_its_rate(cell: Cell, tmp_path: Path) -> None:
    rates = {}
    for factor in cell.factors:
        raw = defaults.job(cell, CHECKPOINT, defaults.rate(cell.width, factor), steps=4, data=tmp_path)
        spec = JobSpec.model_validate(raw).resolved(hidden_size=cell.width)
        rates[factor] = (spec.optimizer.initial_learning_rate, spec.optimizer.learning_rate)
        assert spec.evaluation.every_steps == EVERY
    settled = auto_learning_rate(cell.width)
    assert rates.pop(RULE) == (auto_initial_learning_rate(cell.width), settled)
    assert rates == {factor: (None, factor * settled) for factor in rates}


def test_rates_after_the_first_run_as_long_as_they_can_show_that_the_rule_is_bad() -> None:
    assert limit([]) == STEPS
    assert limit([learns(40)]) == 26 + EVERY  # 40 > 1.5 × 26 and 40 > 26 + 10
    assert limit([learns(20)]) == 8 + EVERY
    assert limit([learns(4)]) == LEAST
    assert limit([learns(40), learns(12), run([0.5] * 8)]) == 12 + EVERY
    never = run([0.5] * 41)
    assert limit([never]) == STEPS
    assert limit([never, learns(30)]) == 30 + EVERY


def test_the_rules_run_goes_on_twenty_steps() -> None:
    values = [0.5, 0.95, 0.95, *[0.95] * 8]  # reached at step 2; step 20 is the last here
    assert not FIRST_STOP.reached(values)
    assert FIRST_STOP.reached([*values, 0.95])  # step 22
    assert LATER_STOP.reached(values[:3])


def test_a_run_diverges_when_it_fails_or_does_not_stay() -> None:
    assert not diverged(learns(20))
    assert not diverged(run([0.5] * 41))
    assert diverged(run([0.5, 0.95, 0.95, *[0.3] * 8]))
    assert diverged(run([0.5, 0.6], ended="failed"))


@pytest.mark.parametrize(
    ("steps", "good"),
    [
        ({RULE: 20, 2: 14, 4: None, 1: None, 0.5: None, 0.25: None}, True),  # 1.43 ×
        ({RULE: 12, 2: 4, 4: None, 1: None, 0.5: None, 0.25: None}, True),  # 8 more
        ({RULE: 40, 2: 20, 4: None, 1: None, 0.5: None, 0.25: None}, False),
        ({RULE: None, 2: 20, 4: None, 1: None, 0.5: None, 0.25: None}, False),
        ({RULE: 20, 2: 40}, None),
        ({RULE: 40, 2: 20}, False),
    ],
)
def test_a_cell_is_good_when_the_rule_is_nearly_the_best(
    steps: dict[float, int | None], good: bool | None
) -> None:
    results = {factor: run([0.5] * 8) if at is None else learns(at) for factor, at in steps.items()}
    summary = outcome(CELL, RATES, results)
    assert summary["good"] is good
    assert summary["rule_steps"] == steps[RULE]
    cut = [one for one in summary["runs"] if one["steps"] is None]
    assert all(one["cut_at"] == 14 for one in cut)


def test_a_rule_that_diverges_is_not_good() -> None:
    results = dict.fromkeys(FACTORS, run([0.5] * 8)) | {RULE: run([0.5, 0.95, 0.95, *[0.3] * 8])}
    summary = outcome(CELL, RATES, results)
    assert (summary["good"], summary["diverged"]) == (False, True)


def test_the_verdict_counts_cells_of_the_widths_that_the_rule_is_fitted_on() -> None:
    cells = [
        {"width": 64, "good": True, "diverged": False},
        {"width": 128, "good": False, "diverged": True},
        {"width": 256, "good": None, "diverged": None},
        {"width": 512, "good": True, "diverged": False},
    ]
    summary = verdict(cells, defaults.WIDTHS, 18)
    assert summary == {"cells": 18, "measured": 2, "good": 1, "diverged": 1}


@pytest.mark.parametrize("task", TASKS)
def test_rows_that_measure_are_held_out(task: str, tmp_path: Path) -> None:
    data = task_data(task, tmp_path)["data"]
    for part, held_out in (("dataset", False), ("held_out", True)):
        rows = [json.loads(line) for line in Path(data[part]).read_text().splitlines()]
        assert len(rows) == (64 if held_out else 512)
        for row in rows:
            a, b = (int(word) for word in row["prompt"].replace("+", " ").strip("=?Whatis ").split())
            assert is_held_out(a, b) == held_out
            assert row["answer"] == str(a + b)


@pytest.mark.parametrize(
    ("task", "text", "score"),
    [
        ("additions", "<think>7+5=12,4+8+1=13</think><answer>132</answer>", 1),
        ("additions", "<answer>132</answer>", 1),
        ("additions", "<answer>122</answer>", 0),
        ("additions", "132", 0),
        ("even", "<answer>132</answer>", 1),
        ("even", "<answer>130</answer>", 1),
        ("even", "<answer>131</answer>", 0),
        ("even", "<answer></answer>", 0),
        ("even", "<think>7+5=12,4+8+1=13</think><answer>132</answer>", 0),
        ("even", "2", 0),
    ],
)
def test_the_rewards(task: str, text: str, score: float) -> None:
    module = ModuleType(task)
    exec(TASKS[task][1], module.__dict__)
    assert module.grade({"output_text": text}, {"answer": "132"}) == score


@pytest.mark.long
def test_a_cell_runs_and_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A model of width 64 with hardly any pretraining, one rate, two steps: the real trainer and sandbox."""
    monkeypatch.setattr(defaults, "MODELS", tmp_path / "models")
    phases = (PretrainPhase("habits", habits, steps=2, batch=4, peak_lr=1e-3),)
    monkeypatch.setattr(defaults, "PHASES", phases)
    monkeypatch.setattr(defaults, "SAMPLES", 1)
    threads = torch.get_num_threads()
    request.addfinalizer(lambda: torch.set_num_threads(threads))
    torch.set_num_threads(1)
    cell = Cell(64, "additions", "grpo", factors=(RULE,))
    defaults.measure([cell], tmp_path, jobs=1, steps=2)
    (summary,) = defaults.outcomes([cell], tmp_path)
    assert [one["outcome"] for one in summary["runs"]] == ["succeeded"]
    assert [one["learning_rate"] for one in summary["runs"]] == [auto_learning_rate(64)]
    assert [one["cut_at"] for one in summary["runs"]] == [2]
    before = (tmp_path / "runs.jsonl").read_bytes()
    defaults.measure([cell], tmp_path, jobs=1, steps=2)
    assert (tmp_path / "runs.jsonl").read_bytes() == before


def test_the_committed_page_is_written_from_the_committed_results() -> None:
    content = json.loads((defaults.RESULTS / "defaults.json").read_text(encoding="utf-8"))
    assert default_page.PAGE.read_text(encoding="utf-8") == default_page.text_of(content)
    names = {f"w{cell['width']}/{cell['task']}/{cell['preset']}" for cell in content["cells"]}
    assert names <= {cell.name for cell in [*defaults.cells(), defaults.CHECKED_CELL]}


def test_the_page_says_what_was_cut_and_what_diverged() -> None:
    results = {RULE: run([0.5, 0.95, 0.95, *[0.3] * 8]), 2.0: learns(8), 4.0: run([0.5] * 5)}
    cell = outcome(CELL, RATES, results)
    content = {
        "cells": [cell],
        "widths": [128],
        "verdict": verdict([cell], [128], 18),
        "machine": {"cpu": "one", "cores": 2, "versions": {"torch": "2"}},
        "date": "2026-11-24",
        "rule": {"scale": SCALE, "initial": INITIAL, "level": 0.9, "share": 1.5, "more": 10, "every": 2},
    }
    text = default_page.text_of(content)
    assert "| 128 | additions | `grpo` | 0.50 | 2, diverged | – | – | – | 8 | > 8 | **no** |" in text
    assert "holds in 0 of 1 rows (17 more were not finished); it diverged in 1." in text
    assert "| 128 | 0.00375 | 0.00125 | measured: 1 of 6 rows |" in text
    assert "| 256 | 0.00187 | 0.000625 | not measured |" in text
