"""All detectors, and the order of what they report: causes first."""

import logging
from collections.abc import Mapping

from reinforge.diagnosis.detectors import held_out, lengths, operation, signal, tools, updates, witnesses
from reinforge.diagnosis.finding import FindingCode, JobFinding
from reinforge.diagnosis.job_input import Detector, JobInput

log = logging.getLogger(__name__)

DETECTORS: tuple[Detector, ...] = (
    operation.reward_failing, tools.tool_calls_fail,
    held_out.leakage, updates.sampler_mismatch, updates.learning_rate_too_high,
    witnesses.reward_follows, lengths.truncated, signal.reward_unreachable, signal.reward_constant,
    held_out.answers_disagree, witnesses.witness_disagrees, witnesses.judge_disagrees, witnesses.format_gaming,
    lengths.equal_lengths, held_out.reward_hacking, updates.entropy_blow_up, updates.entropy_collapse,
    held_out.peak_then_collapse, held_out.worse_than_base, updates.ratio_blow_up, updates.reference_drift,
    tools.policy_gives_up, tools.tools_abandoned, tools.tools_do_not_help,
    lengths.length_collapse, lengths.length_inflation, lengths.length_bias, signal.groups_all_wrong,
    signal.groups_all_equal, signal.signal_stalled, updates.learning_rate_too_low, updates.kl_too_strong,
    held_out.past_best, held_out.no_generalization, held_out.domain_interference, witnesses.reward_domination,
    witnesses.reward_labels_collapsed, witnesses.rubric_saturated, operation.reward_slow,
    operation.one_sided_groups, operation.no_repeated_states,
)  # fmt: skip
"""Their order ranks findings of equal severity and step."""

_LOST_SIGNAL: frozenset[FindingCode] = frozenset(
    {"groups_all_wrong", "groups_all_equal", "signal_stalled", "reward_constant", "entropy_collapse"}
)
_HACK_FOLLOWS: frozenset[FindingCode] = _LOST_SIGNAL | frozenset(
    {
        "all_truncated", "truncated", "length_inflation", "length_bias", "answers_disagree", "equal_lengths",
        "reward_hacking", "no_generalization", "entropy_blow_up", "format_gaming", "witness_disagrees",
        "judge_disagrees", "reference_drift",
    }
)  # fmt: skip
_WRONG_REWARD_FOLLOWS = _HACK_FOLLOWS - {
    "answers_disagree", "format_gaming", "witness_disagrees", "judge_disagrees", "entropy_blow_up"
}  # fmt: skip
_DRIFT_FOLLOWS: frozenset[FindingCode] = _LOST_SIGNAL | frozenset(
    {
        "all_truncated", "truncated", "length_inflation", "length_collapse", "equal_lengths", "entropy_blow_up",
        "past_best", "peak_then_collapse",
    }
)  # fmt: skip
_BROKEN_FOLLOWS: frozenset[FindingCode] = _LOST_SIGNAL | frozenset(
    {
        "all_truncated", "truncated", "length_inflation", "length_bias", "length_collapse", "worse_than_base",
        "entropy_blow_up", "peak_then_collapse", "past_best", "ratio_blow_up", "reference_drift",
        "sampler_mismatch", "answers_disagree", "witness_disagrees", "equal_lengths", "reward_unreachable",
        "reward_hacking", "reward_labels_collapsed", "rubric_saturated", "domain_interference",
    }
)  # fmt: skip
CONSEQUENCES: Mapping[FindingCode, frozenset[FindingCode]] = {
    "learning_rate_too_high": _BROKEN_FOLLOWS,
    "sampler_mismatch": _BROKEN_FOLLOWS | {"learning_rate_too_high"},
    "entropy_blow_up": _BROKEN_FOLLOWS - {"entropy_collapse", "ratio_blow_up"},
    "entropy_collapse": frozenset({"groups_all_wrong", "groups_all_equal", "signal_stalled"}),
    "peak_then_collapse": _LOST_SIGNAL | {"past_best", "all_truncated", "truncated", "length_collapse"},
    "reward_follows_length": _HACK_FOLLOWS,
    "reward_follows_repetition": _HACK_FOLLOWS,
    "reward_follows_digits": _HACK_FOLLOWS,
    "reward_follows_format": _HACK_FOLLOWS,
    "witness_disagrees": _WRONG_REWARD_FOLLOWS,
    "judge_disagrees": _WRONG_REWARD_FOLLOWS | {"reward_domination"},
    "answers_disagree": _WRONG_REWARD_FOLLOWS,
    "format_gaming": _WRONG_REWARD_FOLLOWS | {"answers_disagree"},
    "reward_domination": _LOST_SIGNAL | {"answers_disagree", "length_collapse", "length_inflation"},
    "reference_drift": _DRIFT_FOLLOWS,
    "no_generalization": frozenset({"worse_than_base", "past_best", "length_bias"}),
    "reward_hacking": frozenset({"worse_than_base", "past_best"}),
    "all_truncated": _LOST_SIGNAL | {"reward_unreachable", "equal_lengths", "length_inflation"},
    "reward_unreachable": _LOST_SIGNAL
    | {"learning_rate_too_low", "rubric_saturated", "reward_labels_collapsed"},
    "reward_constant": _LOST_SIGNAL | {"reward_unreachable", "reward_labels_collapsed"},
    "tool_calls_fail": frozenset(
        {"tools_abandoned", "tools_do_not_help", "policy_gives_up", "groups_all_wrong", "reward_unreachable"}
    ),
    "tools_abandoned": frozenset({"tools_do_not_help"}),
    "policy_gives_up": frozenset({"tools_abandoned", "tools_do_not_help", "length_collapse"}),
    "reward_failing": frozenset({"groups_all_wrong", "reward_constant", "signal_stalled"}),
    "groups_all_wrong": frozenset({"signal_stalled", "learning_rate_too_low"}),
    "groups_all_equal": frozenset({"signal_stalled", "learning_rate_too_low"}),
    "worse_than_base": _LOST_SIGNAL | {"past_best", "domain_interference"},
}
"""Code of a finding → codes of the findings that it explains, unless they began clearly earlier."""
TOLERANCE = 2
"""Steps by which a consequence may be noticed before its cause."""
_RANK = {"error": 0, "warning": 1, "info": 2}


def diagnose(job: JobInput) -> list[JobFinding]:
    """Findings, the most important first. Consequences of the earliest, the cause, come last, without remedies."""
    findings = [finding for detect in DETECTORS if (finding := _finding(detect, job)) is not None]
    places = {finding.code: place for place, finding in enumerate(findings)}
    first_step = min((points[0][0] for points in [job.curve("reward/mean")] if points), default=0)
    causes = {
        finding.code: [other for other in findings if _explains(other, finding, first_step)]
        for finding in findings
    }
    return sorted(
        (_with_cause(finding, causes) for finding in findings),
        key=lambda finding: (
            finding.severity == "info",
            finding.cause is not None,
            _RANK[finding.severity],
            finding.step,
            places[finding.code],
        ),
    )


def _finding(detect: Detector, job: JobInput) -> JobFinding | None:
    """Run a detector; exceptions are only logged, so that records are still accepted."""
    try:
        return detect(job)
    except (ArithmeticError, LookupError, TypeError, ValueError, StopIteration):
        log.exception("the detector %s failed", detect.__name__)
        return None


def _with_cause(finding: JobFinding, causes: Mapping[FindingCode, list[JobFinding]]) -> JobFinding:
    direct = causes[finding.code]
    if not direct:
        return finding
    first = min(direct, key=lambda cause: (bool(causes[cause.code]), cause.step))
    return finding.model_copy(update={"cause": first.code, "remedies": [], "advice": None})


def _explains(cause: JobFinding, effect: JobFinding, first_step: int) -> bool:
    if cause.code == effect.code or effect.code not in CONSEQUENCES.get(cause.code, ()):
        return False
    if cause.code in CONSEQUENCES.get(effect.code, ()):
        return cause.step < effect.step
    began = cause.step if cause.earliest is None else min(cause.step, cause.earliest)
    # What was wrong from the first step on has no cause that began later.
    tolerance = TOLERANCE if effect.step > first_step else 0
    return began <= effect.step + tolerance
