"""The starter model's numbers stand in one file; whatever else prints them prints those."""

import json
import re
from pathlib import Path

import pytest

from worker.starter import CHECKPOINT
from worker.starter.__main__ import record_demo
from worker.starter.card import card
from worker.starter.figures import DemoRun, Figures, SampleShares
from worker.starter.phrasings import DEMO

ONE = SampleShares(
    samples=8,
    accuracy=0.5,
    worked_share=0.25,
    hasty_accuracy=1 / 3,
    worked_accuracy=1.0,
    mean_tokens=27.25,
)
SUMMARY = {
    "job_id": "ftjob-1",
    "steps": 60,
    "reward_before": 0.5,
    "reward_after": 0.95,
    "length_before": 27.5,
    "length_after": 48.5,
    "seconds": 63.4,
}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    figures = Figures(hidden=128, parameters=820_000, seed=0, phrasings={DEMO: ONE})
    figures.write(tmp_path)
    read = Figures.read(tmp_path)
    assert read.base.hasty_accuracy == pytest.approx(1 / 3, abs=1e-4)
    assert read.demo is None


def test_a_run_of_the_demo_is_added_to_figures_and_card(tmp_path: Path) -> None:
    Figures(hidden=128, parameters=820_000, seed=0, phrasings={DEMO: ONE}).write(tmp_path)
    (tmp_path / "demo-summary.json").write_text(json.dumps(SUMMARY))
    record_demo(tmp_path, tmp_path / "demo-summary.json")
    figures = Figures.read(tmp_path)
    assert figures.demo == DemoRun(60, 0.5, 0.95, 27.5, 48.5, 63.4)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| reward | 0.50 | 0.95 |" in text
    assert "| `a+b=` | 50.0% | 25.0% | 33.3% | 100.0% | 27.2 |" in text


def test_the_committed_card_is_written_from_the_committed_figures() -> None:
    assert (CHECKPOINT / "README.md").read_text(encoding="utf-8") == card(Figures.read(CHECKPOINT))


def test_the_demo_improves_as_it_is_described() -> None:
    demo = Figures.read(CHECKPOINT).demo
    assert demo is not None
    assert demo.reward_after >= 0.9
    assert demo.reward_after - demo.reward_before >= 0.3


@pytest.mark.parametrize("page", ["README.md", "docs/README.md", "docs/install.md", "docs/page.md"])
def test_pages_repeat_the_figures_of_the_demo(request: pytest.FixtureRequest, page: str) -> None:
    """Wherever one says that a reward or a length goes from one number to another."""
    demo = Figures.read(CHECKPOINT).demo
    assert demo is not None
    text = " ".join((request.config.rootpath / page).read_text(encoding="utf-8").split())
    rewards = set(re.findall(r"\b(0\.\d\d) (?:to|→) (0\.\d\d)\b", text))
    lengths = set(re.findall(r"\b(\d\d) (?:to|→) (\d\d) tokens", text))
    assert rewards <= {(f"{demo.reward_before:.2f}", f"{demo.reward_after:.2f}")}
    assert lengths <= {(f"{demo.length_before:.0f}", f"{demo.length_after:.0f}")}
