"""Turns a probe job's observations into a report."""

import statistics
from collections import Counter
from collections.abc import Sequence

from reinforge.errors import InvalidInput
from reinforge.preflight import costs
from reinforge.preflight.advice import reasons_for, suggestions_for
from reinforge.preflight.drift import rounds_to_fill, useful_when_learned
from reinforge.preflight.observed import Observed, ObservedCompletion
from reinforge.preflight.passing import pass_at_k
from reinforge.preflight.report import Groups, PassRates, PreflightReport, Range
from reinforge.spec import JobSpec

UNIFORM = 1e-6
SENSITIVE = ("qwen2.5", "qwen2-5", "qwen2_5", "qwen-2.5")
"""Substrings of names of models that random rewards improve (Shao et al. 2025, arXiv 2506.10947)."""


def assess(spec: JobSpec, observed: Observed) -> PreflightReport:
    if not observed.groups or not observed.steps:
        raise InvalidInput(
            "The pre-flight ended before its first step was complete, so there is nothing to judge.",
            code="preflight_empty",
            hint="Its log says why: the steps of the job itself would end the same way.",
        )
    completions, groups = observed.completions, _groups(spec, observed.groups)
    rewards = [sampled.reward for sampled in completions if sampled.reward is not None]
    errors = Counter(sampled.error for sampled in completions if sampled.error is not None)
    lengths = sorted(sampled.tokens for sampled in completions)
    rounds = sampling_rounds(spec, groups)
    per_step = spec.rollout.prompts_per_step * spec.rollout.completions_per_prompt
    report = PreflightReport(
        verdict="go",
        reasons=[],
        completions=len(completions),
        reward_mean=statistics.fmean(rewards) if rewards else None,
        reward_std=statistics.pstdev(rewards) if rewards else None,
        passes=_passes(spec, observed.groups),
        groups=groups,
        useful_batch=groups.useful * per_step if rounds.now == 1 else float(per_step),
        error_share=sum(errors.values()) / len(completions),
        errors=dict(errors.most_common()),
        reward_ms=_spread(sorted(observed.reward_ms)),
        tokens=Range(low=_at(lengths, 0.1), expected=statistics.fmean(lengths), high=_at(lengths, 0.95)),
        truncated_share=sum(sampled.truncated for sampled in completions) / len(completions),
        duplicate_share=_duplicates(observed.groups),
        seconds_per_step=costs.step_seconds(observed),
        hours=costs.hours(spec, observed, rounds),
        memory_gib=costs.memory(spec, observed),
        tokens_in_all=costs.tokens_in_all(spec, observed),
        device=str(observed.facts.get("device", "unknown")),
        notes=[*_attack_notes(observed), *_notes(spec)],
    )
    report.reasons = reasons_for(spec, report, observed)
    report.suggestions = suggestions_for(spec, report, observed)
    severities = {reason.severity for reason in report.reasons}
    report.verdict = "stop" if "stop" in severities else "caution" if severities else "go"
    return report


def _passes(spec: JobSpec, groups: Sequence[Sequence[ObservedCompletion]]) -> PassRates:
    counts = [(len(scored), _right(spec, scored)) for group in groups if (scored := _scored(group))]
    size = max((n for n, _ in counts), default=0)
    histogram = [0] * (size + 1)
    for _, right in counts:
        histogram[right] += 1
    sizes = [k for k in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if k <= size]
    pass_at = {}
    for k in sizes:
        rows = [pass_at_k(n, right, k) for n, right in counts if n >= k]
        pass_at[k] = statistics.fmean(rows)
    return PassRates(per_group=size, histogram=histogram, pass_at=pass_at)


def _groups(spec: JobSpec, groups: Sequence[Sequence[ObservedCompletion]]) -> Groups:
    kinds = Counter[str]()
    useful = 0
    for group in groups:
        scored = _scored(group)
        if not scored:
            continue
        right = _right(spec, scored)
        kinds["right" if right == len(scored) else "wrong" if right == 0 else "mixed"] += 1
        rewards = [sampled.reward or 0.0 for sampled in scored]
        useful += max(rewards) - min(rewards) > UNIFORM
    if spec.rollout.completions_per_prompt == 1:
        # Rewards are compared within the batch, not the group; all of it counts if any two differ.
        all_rewards = [sampled.reward or 0.0 for group in groups for sampled in _scored(group)]
        spread = max(all_rewards, default=0.0) - min(all_rewards, default=0.0)
        useful = kinds.total() if spread > UNIFORM else 0
    total = max(1, kinds.total())
    return Groups(
        all_right=kinds["right"] / total,
        all_wrong=kinds["wrong"] / total,
        mixed=kinds["mixed"] / total,
        useful=useful / total,
    )


def _scored(group: Sequence[ObservedCompletion]) -> list[ObservedCompletion]:
    return [sampled for sampled in group if sampled.reward is not None]


def _right(spec: JobSpec, scored: Sequence[ObservedCompletion]) -> int:
    return sum((sampled.reward or 0.0) > spec.evaluation.pass_above for sampled in scored)


def _duplicates(groups: Sequence[Sequence[ObservedCompletion]]) -> float:
    total = sum(len(group) for group in groups)
    return sum(len(group) - len({sampled.text for sampled in group}) for group in groups) / max(1, total)


def sampling_rounds(spec: JobSpec, groups: Groups) -> costs.Rounds:
    """Sampling rounds per step under dynamic sampling, now and once most completions pass."""
    selection = spec.algorithm.selection
    if selection.type != "dynamic_sampling":
        return costs.Rounds()
    prompts, most = spec.rollout.prompts_per_step, selection.max_rounds
    now = rounds_to_fill(groups.useful, prompts, most)
    learned = useful_when_learned(spec.rollout.completions_per_prompt)
    later = rounds_to_fill(learned, prompts, most)
    return costs.Rounds(now, max(now, later) if groups.mixed else now)


def _attack_notes(observed: Observed) -> list[str]:
    attack = observed.facts.get("reward_attack")
    if not isinstance(attack, dict) or attack.get("verdict") != "holds":
        return []
    return [f"Attack on the rewards: {attack['message']}"]


def _notes(spec: JobSpec) -> list[str]:
    if not any(name in spec.model.lower() for name in SENSITIVE):
        return []
    return [
        f"{spec.model} is of a family that improves on mathematics even when rewards are random. Run a control with "
        "a reward that returns a random 0 or 1 before you credit your reward with the gain (arXiv 2506.10947)."
    ]


def _spread(ordered: list[float]) -> Range | None:
    if not ordered:
        return None
    return Range(low=statistics.median(ordered), expected=statistics.fmean(ordered), high=_at(ordered, 0.95))


def _at(ordered: Sequence[float], share: float) -> float:
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])
