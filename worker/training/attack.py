"""Attacks the rewards in a pre-flight run: scores wrong completions as the job would score its own."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from reinforge.dataset import PromptRow
from reinforge.environment_spec import ToolsSpec
from reinforge.errors import JobFailure
from reinforge.preflight.probe import NO_LEARNING
from reinforge.reward_attack.attack import ProbeAttempt, attack
from reinforge.reward_attack.rows import AttackRow, answer_text
from reinforge.reward_spec import PythonReward
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.reward_attack import AttackReport
from reinforge.spec import JobSpec
from worker.rewards.base import Group, Scorable, Score, Scorer

ROWS = 6


def attack_facts(spec: JobSpec, scorer: Scorer, rows: Sequence[PromptRow]) -> dict[str, Any]:
    """Whether the rewards of a pre-flight run can be exploited. Empty for other jobs, for environment `tools`, and if a
    reward is not code or calls judges.
    """
    if spec.optimizer.learning_rate != NO_LEARNING or isinstance(spec.environment, ToolsSpec):
        return {}
    if not all(isinstance(reward, PythonReward) and not reward.judges for reward in spec.rewards):
        return {}
    try:
        report = asyncio.run(_attacked(scorer, rows[:ROWS]))
    except JobFailure:  # the first step fails in the same way, and says so
        return {}
    first = next((finding for finding in report.findings if finding.severity == "high"), None)
    line = {"verdict": report.verdict, "message": report.message, "fix": first.fix if first else None}
    return {"reward_attack": line}


async def _attacked(scorer: Scorer, rows: Sequence[PromptRow]) -> AttackReport:
    targets = [AttackRow(row.messages, row.item, answer_text(row.item.get("answer"))) for row in rows]
    probes = attack(targets, searching=False)
    attempts = next(probes)
    while True:
        results = await _scored(scorer, rows, attempts)
        try:
            attempts = probes.send(results)
        except StopIteration as end:
            report: AttackReport = end.value
            return report


async def _scored(
    scorer: Scorer, rows: Sequence[PromptRow], attempts: Sequence[ProbeAttempt]
) -> list[RewardResult]:
    places: dict[int, list[int]] = {}
    for place, attempt in enumerate(attempts):
        places.setdefault(attempt.row, []).append(place)

    async def groups() -> AsyncIterator[Group]:
        for row, members in places.items():
            item, messages = rows[row].item, rows[row].messages
            samples = [Scorable.of_row(attempts[place].completion, item, messages, None) for place in members]
            yield Group(row, samples)

    results: dict[int, RewardResult] = {}
    async for row, scores in scorer.score(groups()):
        for place, score in zip(places[row], scores, strict=True):
            results[place] = _total(score, scorer.weights)
    return [results[place] for place in range(len(attempts))]


def _total(score: Score, weights: Sequence[float]) -> RewardResult:
    if score.error is not None:
        failed = next(result for result in score.results if result.failed)
        return RewardResult(name="rewards", status=score.error, value=None, message=failed.message)
    pairs = zip(score.results, weights, strict=True)
    value = sum(weight * result.value for result, weight in pairs if result.value is not None)
    return RewardResult(name="rewards", status="ok", value=value)
