"""Detectors of jobs whose policy calls tools or answers to a strict checker."""

from statistics import fmean
from typing import NamedTuple

from reinforge.diagnosis.curve import recent_mean, step_since
from reinforge.diagnosis.finding import JobFinding
from reinforge.diagnosis.formats import format_percent
from reinforge.diagnosis.job_input import RECENT, JobInput, change_text, fall_step

FAILING, MOSTLY_FAILING = 0.3, 0.6
ABANDONED, NEVER_CALLED = 0.3, 0.1
FEWEST_CALLS = 0.1
"""Calls per rollout at the start below which the tools count as unused."""
RARE_USE, WRONG, MOSTLY_WRONG = 0.35, 0.3, 0.4
"""Share of rollouts with a call; shares of prompts whose rollouts with calls all fail (AXPO, 2605.28774)."""
LEFT = 0.3
"""A fall of length or calls below this share of their start is a sign of giving up."""
OFF_LANGUAGE = 0.05
SIGNS = 2


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


def tools_do_not_help(job: JobInput) -> JobFinding | None:
    curve = job.curve("tools/all_wrong_share")
    wrong, use = recent_mean(curve, RECENT), job.recent("tools/use_share")
    if wrong is None or use is None or len(curve) < 2 * RECENT or job.reward_rises:
        return None
    if wrong <= MOSTLY_WRONG and not (use < RARE_USE and wrong > WRONG):
        return None
    return job.finding(
        "tools_do_not_help",
        "error" if wrong > MOSTLY_WRONG else "warning",
        step_since(curve, lambda value: value > WRONG) or curve[-1][0],
        f"{format_percent(use)} of rollouts call a tool. For {format_percent(wrong)} of prompts with calls, "
        "all rollouts with a call are wrong, and the reward does not rise.",
        numbers={"rollouts with a call": use, "prompts all wrong": wrong},
        charts=("tools/all_wrong_share", "tools/use_share", "reward/mean"),
        completions=True,
        advice="Read what follows the results. Samples that continue a failed call (preset `axpo`), or easier rows, "
        "give the policy something to learn from.",
    )


def policy_gives_up(job: JobInput) -> JobFinding | None:
    """Finding: at least two of shorter answers, fewer calls, another script than the prompt's."""
    signs = [
        sign
        for sign in (
            _fallen(job, "completions/length_mean", "tokens", 0.0),
            _fallen(job, "tools/calls_per_rollout", "calls per rollout", FEWEST_CALLS),
            _off_language(job),
        )
        if sign is not None
    ]
    if len(signs) < SIGNS:
        return None
    return job.finding(
        "policy_gives_up",
        "error",
        max(sign.step for sign in signs),
        f"{'; '.join(sign.text for sign in signs)}.",
        numbers={sign.name: sign.value for sign in signs},
        charts=tuple(sign.metric for sign in signs),
        completions=True,
        advice="Use a weaker or calibrated checker, reward a least length, or reward the language of the prompt.",
        remedies=(job.take_best(),),
    )


class _Sign(NamedTuple):
    step: int
    text: str
    name: str
    value: float
    metric: str


def _fallen(job: JobInput, metric: str, unit: str, least: float) -> _Sign | None:
    """Sign that a metric fell far below its start; None if the start is at most `least`."""
    curve, recent = job.curve(metric), job.recent(metric)
    if recent is None or len(curve) < 2 * RECENT:
        return None
    start = fmean(value for _, value in curve[:RECENT])
    if start <= least or recent >= LEFT * start:
        return None
    step = fall_step(curve, LEFT * start) or curve[-1][0]
    return _Sign(step, f"{unit.capitalize()} went {change_text(start, recent)}", unit, recent, metric)


def _off_language(job: JobInput) -> _Sign | None:
    metric = "completions/off_language_share"
    curve, recent = job.curve(metric), job.recent(metric)
    if recent is None or len(curve) < 2 * RECENT or recent <= OFF_LANGUAGE:
        return None
    step = step_since(curve, lambda value: value > OFF_LANGUAGE) or curve[-1][0]
    text = f"{format_percent(recent)} of letters are of another script"
    return _Sign(step, text, "letters of another script", recent, metric)
