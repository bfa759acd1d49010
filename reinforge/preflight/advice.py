"""Rules that decide a pre-flight's verdict and suggest changes to the job."""

from collections.abc import Callable

from reinforge.preflight.observed import Observed
from reinforge.preflight.passing import fit_rates, mixed_share
from reinforge.preflight.report import PreflightReport, Reason, Suggestion
from reinforge.spec import JobSpec

NEARLY_ALL = 0.95
FEW_USEFUL = 0.3
MUCH_TRUNCATED = 0.1
MOSTLY_WAITING = 0.5
MANY_DUPLICATES = 0.8
ENOUGH_MIXED = 0.5
SIZES = (4, 8, 16, 32, 64)

Rule = Callable[[JobSpec, PreflightReport, Observed], Reason | None]


def reasons_for(spec: JobSpec, report: PreflightReport, observed: Observed) -> list[Reason]:
    reasons = [rule(spec, report, observed) for rule in RULES]
    return [reason for reason in reasons if reason is not None]


def suggestions_for(spec: JobSpec, report: PreflightReport, observed: Observed) -> list[Suggestion]:
    suggestions = [
        _group_size(spec, report, observed),
        _temperature(spec, report),
        _length_limit(spec, report, observed),
    ]
    return [suggestion for suggestion in suggestions if suggestion is not None]


def _errors(spec: JobSpec, report: PreflightReport, observed: Observed) -> Reason | None:
    if report.error_share == 0:
        return None
    most = next(iter(report.errors))
    worst = report.error_share > spec.limits.error_share
    return Reason(
        code="reward_errors",
        severity="stop" if worst else "caution",
        message=f"The reward failed on {report.error_share:.0%} of completions, most often with {most}.",
        hint="The job would pause because of this: test the reward on these completions and fix it."
        if worst
        else "The job would skip these completions. Find the cause before there are more.",
    )


def _always_wrong(spec: JobSpec, report: PreflightReport, observed: Observed) -> Reason | None:
    if report.groups.useful > 1 - NEARLY_ALL or report.groups.all_wrong < NEARLY_ALL:
        return None
    return Reason(
        code="never_right",
        severity="stop",
        message=f"The base model passes on almost no row ({report.groups.all_wrong:.0%} of groups have no pass), so "
        "there is nothing to reinforce.",
        hint="Use easier rows, partial credit in the reward, or a model already fine-tuned on such answers.",
    )


def _always_right(spec: JobSpec, report: PreflightReport, observed: Observed) -> Reason | None:
    if report.groups.useful > 1 - NEARLY_ALL or report.groups.all_right < NEARLY_ALL:
        return None
    return Reason(
        code="always_right",
        severity="stop",
        message=f"The base model already passes almost all rows ({report.groups.all_right:.0%} of groups).",
        hint="Use harder rows, or a reward that distinguishes good answers from better ones.",
    )


def _no_spread(spec: JobSpec, report: PreflightReport, observed: Observed) -> Reason | None:
    groups = report.groups
    if groups.useful > FEW_USEFUL or max(groups.all_wrong, groups.all_right) >= NEARLY_ALL:
        return None
    severity = "stop" if groups.useful <= 1 - NEARLY_ALL else "caution"
    return Reason(
        code="few_useful_groups",
        severity=severity,
        message=f"Rewards differ in {groups.useful:.0%} of groups only; the others teach nothing.",
        hint="Use larger groups, rows of medium difficulty, dynamic sampling or data.sampling: frontier.",
    )


def _truncated(spec: JobSpec, report: PreflightReport, observed: Observed) -> Reason | None:
    if report.truncated_share <= MUCH_TRUNCATED:
        return None
    return Reason(
        code="truncated",
        severity="caution",
        message=f"{report.truncated_share:.0%} of completions are cut off at "
        f"{spec.rollout.max_completion_tokens} tokens and mostly scored as wrong.",
        hint="Raise rollout.max_completion_tokens, or ask for shorter answers.",
    )


def _waiting(spec: JobSpec, report: PreflightReport, observed: Observed) -> Reason | None:
    waiting = [values.get("time/score") or 0.0 for values in observed.steps]
    whole = [values.get("time/step") or 0.0 for values in observed.steps]
    share = sum(waiting) / max(sum(whole), 1e-9)
    if share <= MOSTLY_WAITING:
        return None
    return Reason(
        code="slow_reward",
        severity="caution",
        message=f"The trainer waits for rewards {share:.0%} of the time.",
        hint="Make the reward faster, or let a cheap part decide whether the expensive one is needed.",
    )


def _duplicates(spec: JobSpec, report: PreflightReport, observed: Observed) -> Reason | None:
    if report.duplicate_share < MANY_DUPLICATES or report.groups.useful > FEW_USEFUL:
        return None
    return Reason(
        code="no_exploration",
        severity="caution",
        message=f"{report.duplicate_share:.0%} of completions repeat another one of their group.",
        hint="Sample at a higher temperature: what is never tried cannot be reinforced.",
    )


def _broken(spec: JobSpec, report: PreflightReport, observed: Observed) -> Reason | None:
    attack = observed.facts.get("reward_attack")
    if not isinstance(attack, dict) or attack.get("verdict") != "broken":
        return None
    return Reason(
        code="reward_broken",
        severity="caution",
        message=f"Attack on the rewards: {attack['message']}",
        hint=f"{attack['fix']} `reinforge reward attack` shows the completions.",
    )


RULES: tuple[Rule, ...] = (
    _broken, _errors, _always_wrong, _always_right, _no_spread, _truncated, _waiting, _duplicates,
)  # fmt: skip


def _group_size(spec: JobSpec, report: PreflightReport, observed: Observed) -> Suggestion | None:
    group_size = spec.rollout.completions_per_prompt
    counts = []
    for group in observed.groups:
        scored = [sampled.reward for sampled in group if sampled.reward is not None]
        if scored:
            counts.append((len(scored), sum(value > spec.evaluation.pass_above for value in scored)))
    if not counts or report.groups.useful >= ENOUGH_MIXED or sum(right for _, right in counts) == 0:
        return None
    a, b = fit_rates(counts)
    now = mixed_share(a, b, group_size)
    larger = [size for size in SIZES if size > group_size]
    enough = next((size for size in larger if mixed_share(a, b, size) >= ENOUGH_MIXED), None)
    size = enough or (larger[-1] if larger else group_size)
    if size == group_size or mixed_share(a, b, size) < 1.2 * now:
        return None
    return Suggestion(
        field="rollout.completions_per_prompt",
        value=size,
        instead_of=group_size,
        why=f"About {mixed_share(a, b, size):.0%} of groups would be mixed, instead of {now:.0%} now.",
    )


def _temperature(spec: JobSpec, report: PreflightReport) -> Suggestion | None:
    temperature = spec.rollout.temperature
    if temperature >= 1 or report.duplicate_share < 0.5 or report.groups.useful >= ENOUGH_MIXED:
        return None
    return Suggestion(
        field="rollout.temperature",
        value=1.0,
        instead_of=temperature,
        why=f"{report.duplicate_share:.0%} of completions repeat another one; at 1 they vary more.",
    )


def _length_limit(spec: JobSpec, report: PreflightReport, observed: Observed) -> Suggestion | None:
    limit = spec.rollout.max_completion_tokens
    longest = max(sampled.tokens for sampled in observed.completions)
    if report.truncated_share > MUCH_TRUNCATED:
        return Suggestion(
            field="rollout.max_completion_tokens",
            value=2 * limit,
            instead_of=limit,
            why=f"{report.truncated_share:.0%} of completions are cut off.",
        )
    if 4 * longest <= limit:
        return Suggestion(
            field="rollout.max_completion_tokens",
            value=2 * longest,
            instead_of=limit,
            why=f"The longest completion has {longest} tokens; a lower limit bounds time and memory if lengths grow.",
        )
    return None
