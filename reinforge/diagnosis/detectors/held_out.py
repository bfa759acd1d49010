"""Detectors on held-out rows: worse than base, past the best, no gain, hacking, leakage, slices."""

from typing import Any

from reinforge.diagnosis.curve import Trend, mean_of, trend_of
from reinforge.diagnosis.finding import EvidenceCompletions, JobFinding, Remedy
from reinforge.diagnosis.formats import format_number, format_percent, format_reward
from reinforge.diagnosis.held_out_change import ANSWERS, HeldOutChange, held_out_of
from reinforge.diagnosis.job_input import (
    LEARNING_RATE,
    RECENT,
    JobInput,
    change_text,
    fall_step,
    level_before,
)
from reinforge.diagnosis.reward_remedies import reward_remedies
from reinforge.diagnosis.verdict import Points

LEAKED = 0.02
LEAST_FALL = 0.05
"""Minimum fall from the best evaluation, because the best is partly luck."""
LEAST_RISE, EVALUATIONS = 0.1, 4
PEAK, COLLAPSED, GONE = 0.05, 0.5, 0.1
RISE_STEPS = 5
"""Minimum steps before a peak."""
AFTER_START = 1.2
"""Minimum ratio of a peak to the first reward."""
SLICE_FALL = 0.1
HACKED_RISE = 0.05
MEMORIZED_PASSES = 2.0
"""Passes over the training rows below which the policy cannot know them by heart."""
FEWEST_ROWS = 20
"""Minimum number of rows that the remedy for leakage holds out."""
SMOOTHING = 0.8
ALIKE = 0.5
_CURVES = ("held_out/reward_mean", "reward/mean")


def worse_than_base(job: JobInput) -> JobFinding | None:
    held = held_out_of(job.series, job.held_out_rows)
    if held is None or held.worse_since is None:
        return None
    curve = job.curve("reward/mean")
    halved = fall_step(curve[1:], curve[0][1] / 2) if len(curve) > 1 and curve[0][1] > 0 else None
    step = min(held.worse_since, halved) if halved is not None else held.worse_since
    lower = job.lower_rate()
    label = f"Continue with learning rate {format_number(lower or 0)}"
    fall = f"from {format_reward(held.first)} to {format_reward(held.last)}"
    return job.finding(
        "worse_than_base",
        "error",
        step,
        f"Held-out reward fell {fall}.",
        numbers={"base": held.first, "now": held.last, "best": held.best},
        unit="reward",
        charts=_CURVES,
        completions=EvidenceCompletions(step=held.worse_since, split="held_out"),
        advice=f"Lower the learning rate: start with {format_number(lower)}." if lower else None,
        remedies=(job.take_best(), job.fork(step, {LEARNING_RATE: lower}, label) if lower else None),
        doubt=f"held-out reward fell below base, {fall}",
    )


def past_best(job: JobInput) -> JobFinding | None:
    held = held_out_of(job.series, job.held_out_rows)
    if held is None or not held.fell or held.worse_since is not None or held.best - held.last < LEAST_FALL:
        return None
    best, last = f"{format_reward(held.best)} at step {held.best_step}", format_reward(held.last)
    lower = held.best - (held.best - held.last) / 5
    evaluations = job.curve("held_out/reward_mean")
    after = next(step for step, value in evaluations if step > held.best_step and value <= lower)
    return job.finding(
        "past_best",
        "warning",
        after,
        f"Held-out reward was {best} and is {last} now.",
        numbers={"best": held.best, "now": held.last},
        unit="reward",
        charts=_CURVES,
        advice=f"Use the checkpoint of step {held.best_step}. "
        "Next time, use fewer steps or a lower learning rate.",
        remedies=(job.take_best(),),
    )


def no_generalization(job: JobInput) -> JobFinding | None:
    held, trend = held_out_of(job.series, job.held_out_rows), trend_of(job.curve("reward/mean"))
    if held is None or trend is None or trend.direction != "up" or held.clear:
        return None
    if held.worse_since is not None and _memorized(job):
        return _knows_by_heart(job, held, trend)
    evaluations, gain = job.curve("held_out/reward_mean"), held.last - held.first
    if held.worse_since is not None or held.fell or len(evaluations) < EVALUATIONS:
        return None
    curve = job.curve("reward/mean")
    start, end = (
        mean_of(curve[:RECENT]),
        mean_of(curve[-RECENT:]),
    )  # single steps of short jobs exaggerate the rise
    if end - start < LEAST_RISE or gain > (end - start) / 2:
        return None
    rise = f"from {format_reward(start)} to {format_reward(end)}"
    first, last = format_reward(held.first), format_reward(held.last)
    return job.finding(
        "no_generalization",
        "warning",
        evaluations[-1][0],
        f"Training reward went {rise}; held-out from {first} to {last}, which is not significant.",
        numbers={"training reward": end, "held-out reward": held.last, "base": held.first},
        charts=_CURVES,
        advice="Read completions with a high reward: does the reward measure what you want? More varied rows "
        "also help.",
    )


def _memorized(job: JobInput) -> bool:
    return job.passes is not None and job.passes >= MEMORIZED_PASSES


def _knows_by_heart(job: JobInput, held: HeldOutChange, trend: Trend) -> JobFinding:
    assert held.worse_since is not None
    rise = f"from {format_reward(trend.start)} to {format_reward(trend.end)}"
    fall = f"from {format_reward(held.first)} to {format_reward(held.last)}"
    return job.finding(
        "no_generalization",
        "error",
        held.worse_since,
        f"Each of {job.training_prompts} prompts was trained on {format_number(job.passes or 0)} times: the reward "
        f"rose {rise}, held-out reward fell {fall}.",
        numbers={
            "training prompts": job.training_prompts,
            "passes": job.passes,
            "held-out reward": held.last,
        },
        charts=_CURVES,
        completions=EvidenceCompletions(step=held.worse_since, split="held_out"),
        advice="Use more and more varied rows, or fewer steps.",
        remedies=(job.take_best(),),
        doubt=f"held-out reward fell {fall} while the training reward rose",
        earliest=_since_evaluation(job, held.worse_since),
    )


def _since_evaluation(job: JobInput, step: int) -> int:
    """First step after the evaluation before `step`: a change first seen at `step` began no earlier."""
    return max((at for at, _ in job.curve("held_out/reward_mean") if at < step), default=0) + 1


def reward_hacking(job: JobInput) -> JobFinding | None:
    trend = trend_of(job.curve("reward/mean"))
    held = held_out_of(job.series, job.held_out_rows)
    if held is None or trend is None or trend.direction != "up" or trend.end - trend.start < HACKED_RISE:
        return None
    if held.worse_since is None or _memorized(job):
        return None
    rise = f"from {format_reward(trend.start)} to {format_reward(trend.end)}"
    fall = f"from {format_reward(held.first)} to {format_reward(held.last)}"
    return job.finding(
        "reward_hacking",
        "error",
        held.worse_since,
        f"Training reward rose {rise}, held-out reward fell {fall}.",
        numbers={"training reward": trend.end, "held-out reward": held.last, "base": held.first},
        charts=_CURVES,
        completions=EvidenceCompletions(step=held.worse_since, split="held_out"),
        advice="Stop, and read the completions with the highest rewards.",
        remedies=(*reward_remedies(job), job.take_best()),
        doubt=f"held-out reward fell {fall} while the training reward rose",
    )


def peak_then_collapse(job: JobInput) -> JobFinding | None:
    curve = job.curve("reward/mean")
    if len(curve) < 15:
        return None
    smooth, level = [], curve[0][1]
    for step, value in curve:
        level = SMOOTHING * level + (1 - SMOOTHING) * value
        smooth.append((step, level))
    peak_step, peak = max(smooth, key=lambda point: point[1])
    first = level_before(curve, curve[0][0] + 5) or 0.0
    now = job.recent("reward/mean") or 0.0
    if peak_step < curve[0][0] + RISE_STEPS:
        return None
    if peak < max(PEAK, AFTER_START * first) or now >= COLLAPSED * peak or peak - now <= job.chance(5):
        return None
    step = fall_step([point for point in curve if point[0] > peak_step], (peak + now) / 2) or peak_step
    lower = job.lower_rate()
    changes = ({LEARNING_RATE: lower} if lower else {}) | job.with_kl(0.02)
    return job.finding(
        "peak_then_collapse",
        "error" if now < GONE * peak else "warning",
        step,
        f"The reward peaked at {format_reward(peak)} at step {peak_step} and is {format_reward(now)} now.",
        numbers={"peak": peak, "peak step": peak_step, "now": now},
        charts=("reward/mean", "held_out/reward_mean", "kl/mean"),
        completions=True,
        advice="Continue from the peak with a KL weight and a lower learning rate.",
        remedies=(
            job.fork(step, changes, "Continue with a lower learning rate and a KL weight"),
            job.take_best(),
        ),
    )


def leakage(job: JobInput) -> JobFinding | None:
    leaked, rows = job.leaked_rows or 0, job.held_out_rows or 0
    if not rows or leaked <= LEAKED * rows:
        return None
    return job.finding(
        "leakage",
        "error" if leaked > rows / 10 else "warning",
        0,
        f"{leaked} of {rows} held-out rows ({format_percent(leaked / rows)}) have a prompt that is trained on.",
        numbers={"leaked rows": leaked, "held-out rows": rows},
        charts=("held_out/reward_mean",),
        completions=EvidenceCompletions(step=0, split="held_out"),
        advice="Split by prompt (data.split_by: prompt), or remove the rows from one of the sets.",
        remedies=(_split_again(job, rows),),
        doubt=f"{format_percent(leaked / rows)} of held-out rows are trained on",
    )


def _split_again(job: JobInput, rows: int) -> Remedy:
    changes: dict[str, Any] = {"data.split_by": "prompt"}
    if job.setting("data.held_out") is not None:
        changes |= {"data.held_out": None, "data.held_out_rows": max(rows, FEWEST_ROWS)}
        return job.from_base(changes, "Hold out rows of the training set instead, split by prompt")
    return job.from_base(changes, "Train again, split by prompt")


def domain_interference(job: JobInput) -> JobFinding | None:
    held = held_out_of(job.series, job.held_out_rows)
    if held is None or held.last < held.first:
        return None
    falls = []
    for key in job.keys("held_out/slice/", "/reward_mean"):
        points = job.curve(key)
        if len(points) >= 3:
            step, best = max(points[:-1], key=lambda point: point[1])
            falls.append((best - points[-1][1], step, best, points[-1][1], key))
    worst = max(falls, default=None)
    if worst is None or worst[0] < SLICE_FALL or len(falls) < 2 or min(falls)[0] >= worst[0] / 2:
        return None
    _, step, best, now, key = worst
    name = key.split("/")[2]
    return job.finding(
        "domain_interference",
        "warning",
        step,
        f"Slice {name}: held-out reward went {change_text(best, now)}, while that of all rows did not fall.",
        numbers={"best of the slice": best, "slice now": now, "all rows": held.last},
        charts=(key, "held_out/reward_mean"),
        completions=EvidenceCompletions(step=job.curve(key)[-1][0], split="held_out"),
        advice="Give the slice more rows, or train it in a job of its own.",
        remedies=(job.take_best(),),
    )


def answers_disagree(job: JobInput) -> JobFinding | None:
    """Finding: right answers became or stayed rare, but the reward did not fall equally."""
    answers = held_out_of(job.series, job.held_out_rows, ANSWERS)
    held = held_out_of(job.series, job.held_out_rows)
    if answers is not None and answers.worse_since is not None and not _fell_alike(held, answers):
        fall = f"from {format_reward(answers.first)} to {format_reward(answers.last)}"
        step = _quarter(job.curve(ANSWERS[0]), answers.first, answers.last)
        text = f"The share of held-out completions that end in the reference answer fell {fall}."
        numbers = {"right answers at the start": answers.first, "right answers": answers.last}
        return _disagreement(job, step, text, numbers, f"correct answers fell {fall}", held=True)
    shares, reward = trend_of(job.curve("completions/answer_share")), trend_of(job.curve("reward/mean"))
    if shares is None or reward is None or (held is not None and answers is not None and answers.clear):
        return None
    if shares.direction == "down" and reward.direction == "up":
        fall = f"from {format_percent(shares.start)} to {format_percent(shares.end)}"
        step = _quarter(job.curve("completions/answer_share"), shares.start, shares.end)
        numbers = {"right answers at the start": shares.start, "right answers": shares.end}
        text = f"The reward rises, and completions with the declared answer fell {fall}."
        return _disagreement(job, step, text, numbers, f"right answers fell {fall}", held=False)
    rose = reward.direction == "up" and reward.end - reward.start > 0.2
    rare = shares.end < 0.1 and shares.start > 0 and shares.direction != "up"
    if rose and rare:
        text = f"The reward rises, and only {format_percent(shares.end)} of completions end in the declared answer."
        numbers = {"right answers": shares.end, "reward": reward.end}
        step = job.curve("completions/answer_share")[0][0]
        return _disagreement(job, step, text, numbers, "right answers stay rare", held=False)
    return None


def _fell_alike(reward: HeldOutChange | None, answers: HeldOutChange) -> bool:
    """Whether the held-out reward lost a share of its start at least half as large as right answers did."""
    if reward is None or reward.worse_since is None or reward.first <= 0:
        return False
    return (reward.first - reward.last) / reward.first >= ALIKE * (
        answers.first - answers.last
    ) / answers.first


def _quarter(points: Points, first: float, last: float) -> int:
    """First step by which a curve had made a quarter of its fall from `first` to `last`."""
    begun = first - (first - last) / 4
    return fall_step(points[1:], begun) or points[-1][0]


def _disagreement(
    job: JobInput, step: int, text: str, numbers: dict[str, float], doubt: str, *, held: bool
) -> JobFinding:
    at = EvidenceCompletions(step=job.curve(ANSWERS[0])[-1][0], split="held_out") if held else True
    return job.finding(
        "answers_disagree",
        "error",
        step,
        text,
        numbers=dict(numbers),
        charts=("held_out/answer_share", "completions/answer_share", "reward/mean"),
        completions=at,
        advice="The reward does not measure correct answers: read completions with a high reward.",
        remedies=reward_remedies(job),
        doubt=doubt,
        earliest=_since_evaluation(job, step) if held else None,
    )
