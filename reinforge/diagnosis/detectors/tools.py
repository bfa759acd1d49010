"""Detectors of jobs with `environment: tools`."""

from statistics import fmean

from reinforge.diagnosis.curve import recent_mean, step_since
from reinforge.diagnosis.finding import JobFinding
from reinforge.diagnosis.formats import format_percent
from reinforge.diagnosis.job_input import RECENT, JobInput, change_text, fall_step

FAILING, MOSTLY_FAILING = 0.3, 0.6
ABANDONED, NEVER_CALLED = 0.3, 0.1
FEWEST_CALLS = 0.1
"""Calls per rollout below which a job is not said to have used its tools."""


def tool_calls_fail(job: JobInput) -> JobFinding | None:
    failed = dict(job.curve("tools/failure_share"))
    curve = [(step, share + failed.get(step, 0.0)) for step, share in job.curve("tools/invalid_share")]
    share = recent_mean(curve, RECENT)
    if share is None or len(curve) < 3 or share < FAILING:
        return None
    step = step_since(curve, lambda value: value >= FAILING) or curve[-1][0]
    return job.finding(
        "tool_calls_fail",
        "error" if share >= MOSTLY_FAILING else "warning",
        step,
        f"{format_percent(share)} of tool calls could not run, or failed.",
        numbers={"share of calls": share},
        charts=("tools/invalid_share", "tools/failure_share"),
        completions=True,
        advice="Read the calls beside the completions. If arguments are wrong, describe them in the tool's docstring; "
        "if the tool fails, fix it.",
    )


def tools_abandoned(job: JobInput) -> JobFinding | None:
    curve = job.curve("tools/calls_per_rollout")
    calls = job.recent("tools/calls_per_rollout")
    if calls is None or len(curve) < 2 * RECENT or job.reward_rises:
        return None
    start = fmean(value for _, value in curve[:RECENT])
    if start < FEWEST_CALLS or calls >= ABANDONED * start:
        return None
    return job.finding(
        "tools_abandoned",
        "error" if calls < NEVER_CALLED * start else "warning",
        fall_step(curve, ABANDONED * start) or curve[-1][0],
        f"Tool calls per rollout fell {change_text(start, calls)}, and the reward does not rise.",
        numbers={"calls per rollout": calls, "at the start": start},
        charts=("tools/calls_per_rollout", "reward/mean"),
        completions=True,
        advice="See whether calls fail or take too many tokens. Give the answer without a tool less reward, or go back "
        "to the checkpoint before the fall.",
        remedies=(job.take_best(),),
    )
