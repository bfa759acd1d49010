"""Remedies for rewards that pay for the wrong thing: pay for the declared answer, or for a reward of
weight 0.

They start from the base, because a wrong reward taught nothing worth continuing.
"""

from collections.abc import Mapping
from typing import Any

from reinforge.diagnosis.curve import mean_of, trend_of
from reinforge.diagnosis.finding import Remedy
from reinforge.diagnosis.job_input import JobInput

ANSWER = "answer"
EARLY_POINTS = 5
PAYS_FOR_ANSWERS = 0.7
"""Correlation with right answers, above which the reward measures them."""
STEPS_WITH_SPREAD = 3
AGAINST = -0.2
UNRELATED = 0.1
WITNESS_RISE = 0.1
AGREEMENT_STEPS = 5
ANSWER_SOURCE = '''"""1 when the final answer of the completion is the row's declared answer, else 0."""

import re

NUMBER = re.compile(r"[-+]?[$]?(?:\\d{1,3}(?:,\\d{3})+|\\d+)(?:\\.\\d+)?")


def plain(text):
    return " ".join(text.strip(" \\t\\r\\n.,;:!?\\"'`*$()[]").casefold().split())


def value(number):
    return float(number.replace(",", "").replace("$", ""))


def same(text, expected, marked):
    """Numbers by value, other answers without case and punctuation. A marked answer has one number."""
    if not NUMBER.fullmatch(expected):
        return plain(text) == plain(expected)
    numbers = NUMBER.findall(text)
    if not numbers or (marked and len(numbers) > 1):
        return False
    return abs(value(numbers[-1]) - value(expected)) <= 1e-6 * max(1.0, abs(value(expected)))


def grade(sample, item):
    visible = sample["output_text"].rpartition("</think>")[2]
    marked = [part.partition("</answer>")[0] for part in visible.split("<answer>")[1:]]
    marked = marked or re.findall(r"\\\\boxed\\{([^{}]*)\\}", visible) or re.findall(r"####([^\\n]*)", visible)
    if len({plain(answer) for answer in marked}) > 1:
        return 0.0  # several answers are no answer
    lines = (marked[-1] if marked else visible).strip().splitlines()
    expected = str(item["answer"]).rpartition("####")[2].strip()
    return float(bool(lines) and same(lines[-1], expected, bool(marked)))
'''
"""Code of a reward for the declared answer."""


def reward_remedies(job: JobInput) -> tuple[Remedy | None, ...]:
    """Remedies for a wrong reward, the best first."""
    return trust_witness(job), reward_answers(job), job.take_right()


def rewards(job: JobInput) -> list[Mapping[str, Any]]:
    return [reward for reward in job.setting("rewards", []) if reward.get("name")]


def pays_for_answers(job: JobInput) -> bool:
    points = job.curve("reward/answer_correlation")
    return len(points) >= STEPS_WITH_SPREAD and mean_of(points) >= PAYS_FOR_ANSWERS


def reward_answers(job: JobInput) -> Remedy | None:
    """Remedy: a new job that rewards only the declared answer, if the policy sometimes gives it."""
    shares = [
        value
        for key in ("held_out/answer_share", "completions/answer_share")
        for _, value in job.curve(key)[:EARLY_POINTS]
    ]
    if not any(value > 0 for value in shares) or pays_for_answers(job):
        return None
    reward = {"type": "python", "name": ANSWER, "source": ANSWER_SOURCE}
    return job.from_base({"rewards": [reward]}, "Reward the declared answer instead")


def trust_witness(job: JobInput) -> Remedy | None:
    """Remedy: a new job with only the disagreeing reward of weight 0."""
    disagreement = disagreeing_witness(job)
    if disagreement is None:
        return None
    witness = next(reward for reward in rewards(job) if reward["name"] == disagreement[0])
    return job.from_base({"rewards": [{**witness, "weight": 1.0}]}, f"Pay for {disagreement[0]} alone")


def disagreeing_witness(job: JobInput) -> tuple[str, bool] | None:
    """Name of a reward of weight 0 that does not follow the trained reward, and whether it fell."""
    main = trend_of(job.curve("reward/mean"))
    if main is None or main.direction == "down":
        return None
    for reward in rewards(job):
        if reward.get("weight") != 0:
            continue
        name = reward["name"]
        trend = trend_of(job.curve(f"reward/{name}/mean"))
        relation = job.curve(f"reward/{name}/advantage_correlation")
        if trend is None:
            continue
        r = mean_of(relation) if len(relation) >= AGREEMENT_STEPS else None
        fell = trend.direction == "down"
        unmoved = (
            trend.direction == "flat"
            and main.direction == "up"
            and main.end - main.start >= WITNESS_RISE
            and r is not None
            and r < UNRELATED
        )
        if fell or unmoved or (r is not None and r <= AGAINST and main.direction == "up"):
            return name, fell
    return None
