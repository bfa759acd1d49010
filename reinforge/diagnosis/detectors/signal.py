"""Detectors of missing training signal: equal groups, unreachable and constant rewards."""

from statistics import fmean

from reinforge.diagnosis.curve import step_since
from reinforge.diagnosis.finding import JobFinding, Remedy
from reinforge.diagnosis.formats import format_percent, format_reward
from reinforge.diagnosis.job_input import JobInput
from reinforge.diagnosis.reward_remedies import pays_for_answers, reward_answers

SAME = 1e-6
"""Smaller deviations count as equal rewards."""
FEWEST_STEPS = 5
LOW_TEMPERATURE = 0.5
"""Temperature below which a group's completions hardly differ."""
MOST_GROUPS = 0.5
NEARLY_ALL_GROUPS = 0.6
NEVER = 0.98
"""Minimum share of groups without reward, over all steps, for an unreachable reward."""
NEVER_FIRST = 0.95
"""Like `NEVER`, over the first steps."""
HIGH = 0.9
EARLY_STEPS = 5
LARGEST_GROUP, MORE_COMPLETIONS, FEWEST_PROMPTS = 64, 4, 4
"""Limits of larger groups as a remedy: maximum completions per prompt, maximum factor of completions per
step, minimum prompts per step.
"""
PARTIAL_CREDIT = "Read some completions: does the reward check the right part? Partial credit adds a signal."
STALLED_SHARE = 0.99
STALLED_STEPS = 20


def _mean(job: JobInput, key: str, count: int | None = None) -> float:
    values = [value for _, value in job.curve(key)[:count]]
    return fmean(values) if values else 0.0


def reward_unreachable(job: JobInput) -> JobFinding | None:
    wrong, reward = job.curve("groups/all_wrong_share"), job.curve("reward/mean")
    if len(reward) < FEWEST_STEPS or not wrong:
        return None
    never = _mean(job, "groups/all_wrong_share") >= NEVER
    nothing_at_first = _mean(job, "groups/all_wrong_share", EARLY_STEPS) >= NEVER_FIRST
    if not never or not nothing_at_first or job.reward_rises:
        return None
    step = reward[0][0]
    return job.finding(
        "reward_unreachable",
        "error",
        step,
        f"In {len(reward)} steps hardly any completion got more than {format_reward(_lowest(job))}.",
        numbers={"share of groups without reward": _mean(job, "groups/all_wrong_share")},
        charts=("reward/mean", "groups/all_wrong_share"),
        completions=True,
        advice=PARTIAL_CREDIT,
        remedies=(reward_answers(job), _larger_groups(job, step)),
        doubt="no completion is rewarded",
    )


def _larger_groups(job: JobInput, step: int) -> Remedy | None:
    """Remedy: groups so large that every second one has a reward; None if no group ever had one."""
    wrong = _mean(job, "groups/all_wrong_share")
    if not 0 < wrong < 1:
        return None
    group, prompts = (
        int(job.setting(f"rollout.{name}", default))
        for name, default in (("completions_per_prompt", 8), ("prompts_per_step", 16))
    )
    needed = 2 * group
    while wrong ** (needed / group) > MOST_GROUPS and needed < LARGEST_GROUP:
        needed *= 2
    fewer = min(prompts, max(FEWEST_PROMPTS, MORE_COMPLETIONS * group * prompts // needed))
    changes = {
        "rollout.completions_per_prompt": needed,
        "rollout.prompts_per_step": fewer,
        "data.sampling": "frontier",
    }
    return job.fork(step, changes, f"Continue with {needed} completions per prompt")


def _lowest(job: JobInput) -> float:
    return min(value for _, value in job.curve("reward/mean"))


def reward_constant(job: JobInput) -> JobFinding | None:
    spread, reward = job.curve("reward/std"), job.curve("reward/mean")
    if len(spread) < FEWEST_STEPS or any(value >= SAME for _, value in spread[-FEWEST_STEPS:]):
        return None
    value = job.recent("reward/mean") or 0.0
    constant = all(deviation < SAME for _, deviation in spread)
    if not constant and value >= HIGH:
        return None  # solved
    since = step_since(spread, lambda deviation: deviation < SAME) or spread[-1][0]
    step = reward[0][0] if constant else since
    return job.finding(
        "reward_constant",
        "error",
        step,
        f"All rewards are {format_reward(value)} since step {step}: no completion is better than another.",
        numbers={"reward": value},
        charts=("reward/std", "reward/mean"),
        completions=True,
        advice="Read some completions: does the reward check the right part? Partial credit adds a signal.",
        remedies=(reward_answers(job),),
        doubt="all completions score the same",
    )


def groups_all_wrong(job: JobInput) -> JobFinding | None:
    wrong = job.recent("groups/all_wrong_share") or 0.0
    right = job.recent("groups/all_right_share") or 0.0
    if job.steps < FEWEST_STEPS or wrong <= MOST_GROUPS or right >= wrong:
        return None
    curve = job.curve("groups/all_wrong_share")
    step = step_since(curve, lambda value: value > 0.8 * MOST_GROUPS) or curve[-1][0]
    return job.finding(
        "groups_all_wrong",
        "error" if wrong > NEARLY_ALL_GROUPS and not job.reward_rises else "warning",
        step,
        f"{format_percent(wrong)} of groups have equal rewards of 0 or below and no training signal.",
        numbers={"share of groups": wrong},
        charts=("groups/all_wrong_share", "groups/zero_variance_share"),
        completions=True,
        advice="Use easier rows, a reward with partial credit, more completions per prompt or more tokens per "
        "completion.",
        remedies=(reward_answers(job), _larger_groups(job, step)),
    )


def groups_all_equal(job: JobInput) -> JobFinding | None:
    right = job.recent("groups/all_right_share") or 0.0
    wrong = job.recent("groups/all_wrong_share") or 0.0
    if job.steps < FEWEST_STEPS or right <= MOST_GROUPS or wrong > right:
        return None
    curve = job.curve("groups/all_right_share")
    step = step_since(curve, lambda value: value > 0.8 * MOST_GROUPS) or curve[-1][0]
    at_first = _mean(job, "groups/all_right_share", EARLY_STEPS) > MOST_GROUPS
    reward = job.recent("reward/mean") or 0.0
    learned = not at_first and (
        reward >= 0.8 or reward > _mean(job, "reward/mean", EARLY_STEPS) + job.chance(5) / 3
    )
    fork = job.fork(
        step,
        {"algorithm.selection": {"type": "dynamic_sampling"}},
        "Continue with groups that differ only (dynamic sampling)",
    )
    if job.setting("rollout.temperature", 1.0) < LOW_TEMPERATURE:
        fork = job.fork(step, {"rollout.temperature": 1.0}, "Continue with temperature 1")
    return job.finding(
        "groups_all_equal",
        "info" if learned else "warning",
        step,
        f"{format_percent(right)} of groups have equal rewards above 0 and no training signal.",
        numbers={"share of groups": right},
        charts=("groups/all_right_share", "groups/zero_variance_share"),
        completions=True,
        advice="If these completions are correct, use harder rows or stop; if not, the reward is too coarse.",
        remedies=(reward_answers(job), fork) if _far_from_answers(job) else (fork, job.take_best()),
    )


def _far_from_answers(job: JobInput) -> bool:
    """Whether equal rewards pay for something other than right answers."""
    right = job.recent("completions/answer_share")
    return (
        right is not None and right < HIGH * (job.recent("reward/mean") or 0.0) and not pays_for_answers(job)
    )


def signal_stalled(job: JobInput) -> JobFinding | None:
    curve = job.curve("advantage/zero_share")
    if len(curve) < STALLED_STEPS or (job.recent("reward/mean") or 0.0) >= HIGH:
        return None
    if any(value < STALLED_SHARE for _, value in curve[-STALLED_STEPS:]):
        return None
    step = step_since(curve, lambda value: value >= STALLED_SHARE) or curve[-1][0]
    return job.finding(
        "signal_stalled",
        "error",
        step,
        f"The advantage of nearly all tokens is 0 since step {step}: nothing is learned.",
        numbers={"share of zero advantages": job.recent("advantage/zero_share")},
        charts=("advantage/zero_share", "groups/zero_variance_share"),
        advice="Stop the job, or give the reward more levels.",
        remedies=(job.take_best(),),
    )
