"""Detectors of rewards that pay for the wrong thing: length, repetition, digits, format, other rewards."""

from collections.abc import Sequence
from itertools import permutations
from statistics import fmean
from typing import Any

from reinforge.diagnosis.curve import mean_of, step_since, trend_of
from reinforge.diagnosis.finding import EvidenceCompletions, FindingCode, JobFinding
from reinforge.diagnosis.formats import format_percent, format_reward
from reinforge.diagnosis.held_out_change import ANSWERS, held_out_of
from reinforge.diagnosis.job_input import JobInput, change_text, level_before
from reinforge.diagnosis.reward_remedies import (
    AGAINST,
    AGREEMENT_STEPS,
    STEPS_WITH_SPREAD,
    disagreeing_witness,
    pays_for_answers,
    reward_remedies,
    rewards,
)
from reinforge.diagnosis.verdict import Points

FOLLOWS = 0.7
IS = 0.95
"""Correlation that is too high to come from right answers being longer."""
RISEN = 1.2
PASS_OR_FAIL = 0.9
"""Ratio of reward variance to the maximum for the rewards' range; above it, rewards only pass or fail."""
FORMAT_MET, ACCURACY_LOST = 0.9, 0.1
DOMINANT, IGNORED = 0.85, 0.2
DOMINATION_STEPS = 3
"""Minimum steps in which one reward dominates. Few suffice: learning removes the differences that it pays
for.
"""
DOMINANT_FRACTION = 0.01
MEANT_TO_COUNT = 0.1
"""A reward whose weight is below this share of another's is meant to count little."""
LABEL_SHARE, LABEL_STEPS = 0.95, 10
SATURATED, NEVER_MET, SATURATED_SHARE = 0.95, 0.05, 0.5
JUDGED = frozenset({"score_model", "label_model", "ranking_judge", "multi"})

_LENGTH = "reward/length_correlation"
_FEATURES: tuple[tuple[FindingCode, str, str, str], ...] = (
    ("reward_follows_length", _LENGTH, "completions/length_mean", "length"),
    (
        "reward_follows_repetition",
        "reward/repetition_correlation",
        "completions/repeated_share",
        "repetition",
    ),
    ("reward_follows_digits", "reward/digit_correlation", "completions/digit_share", "share of digits"),
    ("reward_follows_format", "reward/markup_correlation", "completions/markup_share", "share of markup"),
)


def reward_follows(job: JobInput) -> JobFinding | None:
    candidates = [
        (mean_of(job.curve(key)), code, key, level, name)
        for code, key, level, name in _FEATURES
        if len(job.curve(key)) >= STEPS_WITH_SPREAD and _counts(job, code, level)
    ]
    if not candidates or pays_for_answers(job):
        return None
    r, code, key, level, name = max(candidates)
    shorter = mean_of(job.curve(_LENGTH)) if len(job.curve(_LENGTH)) >= STEPS_WITH_SPREAD else 0.0
    inverse = shorter <= -IS and -shorter > r and _graded(job)
    if inverse:
        r, code, key, level, name = shorter, *_FEATURES[0]
    answers = held_out_of(job.series, job.held_out_rows, ANSWERS)
    if not inverse and r < (IS if answers is not None and answers.clear else FOLLOWS):
        return None
    step = next(step for step, value in job.curve(key) if abs(value) >= FOLLOWS)
    kind = f"completions with more {name}"
    if code == "reward_follows_length":
        kind = "longer completions" if r > 0 else "shorter completions"
    return job.finding(
        code,
        "error",
        step,
        f"Within groups, {kind} get higher rewards (r = {format_reward(r)}).",
        numbers={"correlation": r},
        charts=(key, level, "held_out/answer_share"),
        completions=EvidenceCompletions(step=job.curve(key)[-1][0], sort="-reward"),
        advice=f"Read some completions: does the reward favor {name} over the right answer?",
        remedies=reward_remedies(job),
        doubt=f"reward follows {name} (r = {format_reward(r)})",
    )


def _graded(job: JobInput) -> bool:
    """Whether rewards do more than pass or fail. If they do not, texts that pass may just be shorter."""
    lowest, highest = (
        extreme((value for _, value in job.curve(key)), default=0.0)
        for extreme, key in ((min, "reward/p10"), (max, "reward/p90"))
    )
    spread = dict(job.curve("reward/std"))
    shares = [
        spread[step] ** 2 / ((highest - mean) * (mean - lowest))
        for step, mean in job.curve("reward/mean")
        if spread.get(step) and lowest < mean < highest
    ]
    return bool(shares) and fmean(shares) < PASS_OR_FAIL


def _counts(job: JobInput, code: FindingCode, level: str) -> bool:
    """Whether a feature counts. All but length must also grow: right answers may have more digits or markup."""
    if code == "reward_follows_length":
        return True
    trend = trend_of(job.curve(level))
    return trend is not None and trend.direction == "up" and trend.end > RISEN * trend.start


def witness_disagrees(job: JobInput) -> JobFinding | None:
    disagreement = disagreeing_witness(job)
    if disagreement is None:
        return None
    name, fell = disagreement
    key, relation = f"reward/{name}/mean", job.curve(f"reward/{name}/advantage_correlation")
    trend = trend_of(job.curve(key))
    assert trend is not None
    r = mean_of(relation) if len(relation) >= AGREEMENT_STEPS else None
    return _witness(job, name, key, change_text(trend.start, trend.end), r, fell=fell)


def _witness(job: JobInput, name: str, key: str, change: str, r: float | None, *, fell: bool) -> JobFinding:
    points = job.curve(key)
    first = points[0][1]
    step = step_since(points, lambda value: value < first) if fell else None
    return job.finding(
        "witness_disagrees",
        "error" if fell else "warning",
        step or points[0][0],
        f"Reward {name}, of weight 0, went {change} while the trained reward did not fall.",
        numbers={"correlation with the advantage": r},
        charts=(key, "reward/mean", f"held_out/{name}/mean"),
        completions=EvidenceCompletions(step=points[-1][0], sort="-reward"),
        advice=f"Read completions with a high reward and a low {name}; give {name} a weight.",
        remedies=(
            *reward_remedies(job),
            job.fork(
                step or points[0][0], _with_weight(job, name, 1.0), f"Continue with weight 1 for {name}"
            ),
        ),
        doubt=f"{name} went {change}",
    )


def _with_weight(job: JobInput, name: str, weight: float) -> dict[str, Any]:
    names = [reward.get("name") for reward in job.setting("rewards", [])]
    return {f"rewards.{names.index(name)}.weight": weight}


def judge_disagrees(job: JobInput) -> JobFinding | None:
    paid = [reward for reward in rewards(job) if reward.get("weight") != 0]
    judged = [reward["name"] for reward in paid if reward.get("type") in JUDGED or reward.get("judges")]
    rules = [reward["name"] for reward in paid if reward["name"] not in judged]
    for judge in judged:
        points = job.curve(f"reward/{judge}/others_correlation")[-20:]
        trend = trend_of(job.curve(f"reward/{judge}/mean"))
        opposite = [rule for rule in rules if trend is not None and _opposite(job, rule, trend.direction)]
        against = len(points) >= AGREEMENT_STEPS and mean_of(points) <= AGAINST
        if rules and (against or opposite):
            keys = [f"reward/{name}/mean" for name in (judge, *rules)]
            r = mean_of(points) if points else None
            return job.finding(
                "judge_disagrees",
                "error",
                points[0][0] if points else job.curve(keys[0])[0][0],
                f"Judge {judge} and {', '.join(rules)} move against one another"
                + (f" (r = {format_reward(r)})." if r is not None else "."),
                numbers={"correlation": r},
                charts=keys,
                completions=EvidenceCompletions(step=job.last_step, sort="-reward"),
                advice="Label some completions by hand, and compare the judge with the labels.",
                remedies=(
                    job.fork(
                        job.last_step, _with_weight(job, judge, 0.0), f"Continue with weight 0 for {judge}"
                    ),
                    job.take_right(),
                ),
                doubt=f"{judge} and {', '.join(rules)} disagree",
            )
    return None


def _opposite(job: JobInput, name: str, direction: str) -> bool:
    trend = trend_of(job.curve(f"reward/{name}/mean"))
    return trend is not None and {trend.direction, direction} == {"up", "down"}


def format_gaming(job: JobInput) -> JobFinding | None:
    keys = job.keys("reward/", "/mean") + [key for key in job.keys("reward/") if "/part/" in key]
    formats = [key for key in keys if "format" in key.lower() and "/label/" not in key]
    rules = [key for key in keys if key not in formats and "/label/" not in key and key != "reward/mean"]
    measures = [*rules, "completions/answer_share", "held_out/answer_share"]
    for met in formats:
        if (job.recent(met) or 0.0) <= FORMAT_MET:
            continue
        for key in measures:
            points = job.curve(key)
            smooth = [
                (points[place][0], fmean(value for _, value in points[place : place + 5]))
                for place in range(max(0, len(points) - 4))
            ]
            if not smooth:
                continue
            step, peak = max(smooth, key=lambda point: point[1])
            now = smooth[-1][1]
            if peak - now >= ACCURACY_LOST and now < 0.8 * peak:
                return job.finding(
                    "format_gaming",
                    "error",
                    step,
                    f"The format is met in {format_percent(job.recent(met) or 0)} of completions, and {key} went "
                    f"{change_text(peak, now)}.",
                    numbers={"format": job.recent(met), "peak": peak, "now": now},
                    charts=(met, key),
                    completions=True,
                    advice="Pay for the answer only where the format is met, and little for the format alone.",
                    remedies=reward_remedies(job),
                    doubt="the format is met and answers get worse",
                )
    return None


def reward_domination(job: JobInput) -> JobFinding | None:
    """Finding: one of two rewards alone set the advantages for some steps, and still does or the other
    has fallen since.
    """
    paid = [reward for reward in rewards(job) if reward.get("weight") != 0]
    curves = {
        reward["name"]: points
        for reward in paid
        if len(points := job.curve(f"reward/{reward['name']}/advantage_correlation")) >= DOMINATION_STEPS
    }
    weights = {reward["name"]: abs(float(reward.get("weight", 1.0))) for reward in paid}
    since = [
        (step, largest, smallest)
        for largest, smallest in permutations(curves, 2)
        if weights[smallest] >= MEANT_TO_COUNT * weights[largest]
        and (step := _dominated_since(job, curves[largest], curves[smallest], smallest)) is not None
    ]
    if not since:
        return None
    step, largest, smallest = min(since)
    levels = {name: mean_of(_from(curves[name], step)) for name in (largest, smallest)}
    place = next(place for place, reward in enumerate(rewards(job)) if reward["name"] == largest)
    weight = DOMINANT_FRACTION * float(rewards(job)[place].get("weight", 1.0))
    return job.finding(
        "reward_domination",
        "warning",
        step,
        f"{largest} decides the advantage (r = {format_reward(levels[largest])}); {smallest} does not count "
        f"(r = {format_reward(levels[smallest])}).",
        numbers=levels,
        charts=[f"reward/{name}/advantage_correlation" for name in curves],
        advice="Normalize each reward on its own (MO-GRPO, GDPO), or change their weights.",
        remedies=(
            job.fork(
                step, {f"rewards.{place}.weight": weight}, f"Continue with weight {weight:g} for {largest}"
            ),
            job.fork(step, {"algorithm.preset": "mo_grpo"}, "Continue with MO-GRPO"),
        ),
    )


def _from(points: Points, step: int) -> Points:
    return [point for point in points if point[0] >= step][:DOMINATION_STEPS]


def _dominated_since(job: JobInput, large: Points, small: Points, ignored: str) -> int | None:
    def dominates(window: Points, other: Points) -> bool:
        complete = len(other) == DOMINATION_STEPS
        return complete and mean_of(window) > DOMINANT and mean_of(other) < IGNORED

    starts = [step for step, _ in large[: len(large) - DOMINATION_STEPS + 1]]
    first = next((step for step in starts if dominates(_from(large, step), _from(small, step))), None)
    if first is None or dominates(large[-DOMINATION_STEPS:], small[-DOMINATION_STEPS:]):
        return first
    level = level_before(job.curve(f"reward/{ignored}/mean"), first + 1)
    now = job.recent(f"reward/{ignored}/mean")
    return first if level is not None and now is not None and now < level else None


def reward_labels_collapsed(job: JobInput) -> JobFinding | None:
    for key in job.keys("reward/"):
        if "/label/" not in key:
            continue
        points = job.curve(key)
        if len(points) >= LABEL_STEPS and _always(points):
            name, label = key.split("/")[1], key.rsplit("/", 1)[1]
            return job.finding(
                "reward_labels_collapsed",
                "warning",
                points[0][0],
                f"{name} gives {format_percent(mean_of(points))} of completions the label {label}.",
                numbers={"share of the label": mean_of(points)},
                charts=(key,),
                completions=True,
                advice="Calibrate the judge, use a finer scale, or drop this reward.",
            )
    return None


def _always(points: Sequence[tuple[int, float]]) -> bool:
    return mean_of(points) > LABEL_SHARE and mean_of(points[:5]) > LABEL_SHARE


def rubric_saturated(job: JobInput) -> JobFinding | None:
    parts = [key for key in job.keys("reward/") if "/part/" in key and not key.endswith("/spared")]
    parts = [key for key in parts if "/label/" not in key and len(job.curve(key)) >= LABEL_STEPS]
    if len(parts) < 3 or (job.recent("reward/mean") or 0.0) >= 0.9:
        return None
    levels = {key: job.recent(key) or 0.0 for key in parts}
    idle = [key for key, value in levels.items() if value > SATURATED or value < NEVER_MET]
    share = len(idle) / len(parts)
    if share <= SATURATED_SHARE:
        return None
    return job.finding(
        "rubric_saturated",
        "warning",
        job.curve(idle[0])[0][0],
        f"{len(idle)} of {len(parts)} parts of the reward are always or never met.",
        numbers={key.rsplit("/", 1)[1]: levels[key] for key in idle},
        charts=idle[:5],
        advice="Replace parts that are always or never met, or weight parts by what they tell apart (POW3R).",
    )
