"""The live display of a job's events."""

import io
from typing import Any

from rich.console import Console

from reinforge.cli.jobs.watch import JobView, sparkline
from reinforge.schemas.jobs import JobDetail, JobEvent
from tests.reinforge.cli.test_commands import JOB


def view(*events: tuple[str, dict[str, Any]]) -> JobView:
    one = JobView(JobDetail.model_validate(JOB), "http://127.0.0.1/jobs/ftjob-1")
    for seq, (type, data) in enumerate(events, 1):
        one.apply(JobEvent(seq=seq, job="ftjob-1", type=type, data=data))
    return one


def step(number: int, reward: float) -> tuple[str, dict[str, Any]]:
    values = {"reward/mean": reward, "completions/length_mean": 30.25, "time/step": 2.0, "kl/mean": None}
    return "metrics", {"step": number, "kind": "train", "values": values}


def rendered(one: JobView) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(one)
    return console.export_text()


def test_progress_curves_and_time_left() -> None:
    running = ("status", {"status": "running"})
    held_out = ("metrics", {"step": 0, "kind": "held_out", "values": {"held_out/reward_mean": 0.5}})
    text = rendered(
        view(running, held_out, step(1, 0.25), ("phase", {"phase": "scoring", "done": 3, "total": 16}))
    )
    assert "step 1 of 3" in text and "scoring 3/16" in text
    assert "0.250 → 0.250" in text and "30.2" in text and "0.500" in text
    assert "about 4 s left" in text


def test_a_continued_job_forgets_the_steps_that_are_done_again() -> None:
    one = view(step(1, 0.1), step(2, 0.2), ("rewind", {"to_step": 1}), step(2, 0.3))
    assert one.series["reward/mean"] == [0.1, 0.3]
    assert one.line().startswith("step 2/3  reward 0.300")


def test_an_ended_job_has_no_phase() -> None:
    text = rendered(view(("phase", {"phase": "saving"}), ("status", {"status": "succeeded"})))
    assert "succeeded" in text and "saving" not in text


def test_markup_in_names_is_printed_as_it_is() -> None:
    assert "[bold]x" in rendered(view(("log", {"level": "warning", "message": "[bold]x[/bold]"})))


def test_sparkline_spans_least_to_greatest() -> None:
    assert sparkline([0.0, 1.0, 0.5]) == "▁█▅"
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert sparkline([]) == ""
