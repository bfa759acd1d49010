"""Ability probes on report cards: what an adapter lost on rows that its job never had."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reinforge.cli.main import app
from reinforge.report_card.probe import REWARD, starter_rows
from tests.backend.evaluations.sampler import Sampler, sampler
from tests.backend.jobs.monitoring.test_verdicts import finished
from tests.backend.server import OWNER_KEY, Backend


def test_a_probe_shows_what_got_worse(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job = finished(backend, 12, 22)
    monkeypatch.setenv("REINFORGE_URL", backend.url)
    monkeypatch.setenv("REINFORGE_API_KEY", OWNER_KEY)
    rows, reward = tmp_path / "words.jsonl", tmp_path / "reward.py"
    rows.write_text("".join(json.dumps({"prompt": f"word {n}", "answer": "cat"}) + "\n" for n in range(24)))
    reward.write_text(REWARD)
    workers: list[Sampler] = []

    def answer(prompt: str, sample: int) -> str:
        trained = workers[0].sampled[-1]["adapter"] is not None
        return "dog" if trained else "cat"

    with sampler(backend, answer) as worker:
        workers.append(worker)
        command = [
            "job",
            "probe",
            job,
            "--dataset",
            str(rows),
            "--reward",
            str(reward),
            "--samples",
            "2",
            "--json",
        ]
        result = CliRunner().invoke(app, command)
    assert result.exit_code == 3, result.output
    [ability] = backend.api.get(f"/jobs/{job}/card").json()["abilities"]
    assert ability["worse"] and ability["name"] == "words.jsonl"
    change = ability["figures"][0]["change"]
    assert (change["value"], change["high"], change["rows"], change["paired"]) == (-1.0, -1.0, 24, True)
    passed = backend.api.get(f"/jobs/{job}/card", params={"require": "ability_gain>=-0.05"}).json()[
        "requirement"
    ]
    assert not passed["met"]


def test_the_starters_probe_is_graded_right() -> None:
    namespace: dict[str, object] = {}
    exec(REWARD, namespace)
    grade = namespace["grade"]
    assert callable(grade)
    rows = starter_rows()
    assert len({row["prompt"] for row in rows}) == len(rows) == 64
    row = next(row for row in rows if row["prompt"] == "47+85=")
    for text, reward in (
        ("<think>7+5=12,4+8+1=13</think><answer>132</answer>", 1.0),
        ("<answer>122</answer>", 0.0),
        ("132", 1.0),
        ("", 0.0),
        ("1320", 0.0),
    ):
        assert grade({"output_text": text}, row) == reward, text
