"""Detectors of failing and slow rewards, and of algorithms whose assumptions do not hold."""

from reinforge.diagnosis.curve import step_since
from reinforge.diagnosis.finding import JobFinding
from reinforge.diagnosis.formats import format_number, format_percent
from reinforge.diagnosis.job_input import JobInput
from reinforge.diagnosis.reward_remedies import reward_answers

ERRORS, MANY_ERRORS = 0.02, 0.2
SLOW_SHARE, SLOW_SECONDS = 0.5, 1.0
SLOW_STEPS = 3
_NORM_SCOPE = "algorithm.advantage.norm_scope"
LONE_SIDES = 0.3
FEWEST_VISITS = 1.5


def reward_failing(job: JobInput) -> JobFinding | None:
    curve, share = job.curve("reward/error_share"), job.recent("reward/error_share") or 0.0
    if share <= ERRORS:
        return None
    step = next(step for step, value in curve if value > 0)
    return job.finding(
        "reward_failing",
        "error" if share > MANY_ERRORS else "warning",
        step,
        f"{format_percent(share)} of completions have no reward because of an error.",
        numbers={"share of completions": share},
        charts=("reward/error_share",),
        completions=True,
        advice="The messages are shown with the completions. Fix the reward: a running job can change it.",
        remedies=(reward_answers(job),) if share > MANY_ERRORS else (),
        doubt=f"rewards fail on {format_percent(share)} of completions" if share > MANY_ERRORS else None,
    )


def reward_slow(job: JobInput) -> JobFinding | None:
    scoring, whole = dict(job.curve("time/score")), job.curve("time/step")
    shares = [(step, scoring[step] / seconds) for step, seconds in whole if seconds > 0 and step in scoring]
    recent = [share for _, share in shares[-5:]]
    seconds = job.recent("time/score") or 0.0
    if len(shares) < SLOW_STEPS or seconds <= SLOW_SECONDS or sum(recent) / len(recent) <= SLOW_SHARE:
        return None
    share = sum(recent) / len(recent)
    step = step_since(shares, lambda value: value > SLOW_SHARE) or shares[-1][0]
    return job.finding(
        "reward_slow",
        "warning",
        step,
        f"Each step waits {format_number(seconds)} s for rewards, {format_percent(share)} of its time.",
        numbers={"seconds": seconds, "share of the step": share},
        charts=("time/score", "time/step"),
        advice="Make the reward faster: batches, a smaller judge, more parallel calls.",
    )


def one_sided_groups(job: JobInput) -> JobFinding | None:
    share = job.recent("advantage/lone_side_share") or 0.0
    if share <= LONE_SIDES or job.setting(_NORM_SCOPE) == "joint":  # a lone one counts less there
        return None
    curve = job.curve("advantage/lone_side_share")
    step = step_since(curve, lambda value: value > LONE_SIDES) or curve[-1][0]
    return job.finding(
        "one_sided_groups",
        "warning",
        step,
        f"{format_percent(share)} of groups have fewer than two right or two wrong completions.",
        numbers={"share of groups": share},
        charts=("advantage/lone_side_share",),
        advice="Normalize right and wrong completions together (norm_scope: joint), or use larger groups.",
        remedies=(job.fork(step, {_NORM_SCOPE: "joint"}, "Continue with joint normalization"),)
        if job.setting(_NORM_SCOPE) is not None
        else (),
    )


def no_repeated_states(job: JobInput) -> JobFinding | None:
    visits = job.recent("advantage/visits_per_state")
    if visits is None or visits >= FEWEST_VISITS:
        return None
    curve = job.curve("advantage/visits_per_state")
    return job.finding(
        "no_repeated_states",
        "warning",
        curve[0][0],
        f"A state is visited {format_number(visits)} times on average.",
        numbers={"visits per state": visits},
        charts=("advantage/visits_per_state",),
        advice="Use an advantage that compares whole completions.",
        remedies=(job.fork(curve[0][0], {"algorithm.preset": "grpo"}, "Continue with GRPO"),),
    )
