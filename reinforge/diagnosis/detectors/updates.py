"""Detectors of harmful updates: learning rate, distance within a step, entropy, sampler, reference."""

from statistics import fmean

from reinforge.diagnosis.curve import step_since, trend_of
from reinforge.diagnosis.finding import JobFinding
from reinforge.diagnosis.formats import format_number, format_percent, format_reward
from reinforge.diagnosis.held_out_change import held_out_of
from reinforge.diagnosis.job_input import LEARNING_RATE, JobInput, change_text, fall_step, level_before
from reinforge.diagnosis.verdict import Points

LOST = 0.5
"""Share of the first reward that has to be lost to count as a fall."""
ENTROPY_MOVED = (0.5, 1.5)
"""Range of entropy relative to its start, outside of which the policy has changed abruptly."""
NEVER_REWARDED = 0.02
ENTROPY_DOUBLED = 2.0
TRUNCATED_JUMP = 0.3
LENGTH_MOVED = 2.0
NORM_JUMP = 5.0
FEWEST_STEPS = 3
SMALL_RATE = 0.2
"""Share of the automatic rate below which a rate is too low."""
UNMOVED_STEPS = 30
FEWEST_UNMOVED_STEPS = 10
"""Minimum steps, if their learning rates add up to less than the automatic rate."""
UNMOVED_ENTROPY = 0.05
MANY_EQUAL = 0.6
CLIPPED = 0.2
OLD_KL = 0.1
GAP, LARGE_GAP = 0.02, 0.1
EFFECTIVE, SMALL_EFFECTIVE = 0.9, 0.5
_EPS_HIGH = "algorithm.loss.surrogate.eps_high"
COLLAPSED, SATURATED = 0.3, 0.5
MORE_DUPLICATES = 0.15
NEARLY_ALL = 0.8
"""Reward above which low entropy means that learning is complete."""
DRIFT, FREE_DRIFT = 5.0, 1.0
DRIFT_BEGUN = 0.1
"""Share of the bound on drift at which the drift has begun."""
STRONG_KL, USUAL_KL = 1.0, 0.04
HELD_KL = 0.05
"""KL per token below which the policy has hardly left the reference."""
KL_STEPS = 15
FEW_UPDATES = 4


def learning_rate_too_high(job: JobInput) -> JobFinding | None:
    reward = job.curve("reward/mean")
    rate = job.rate
    if len(reward) < FEWEST_STEPS or rate is None:
        return None
    onset = _fall(job)
    if onset is None and _destroyed_unseen(job):
        onset = _jump(job)
    if onset is None or not _abrupt(job, onset) or _bonus_did_it(job, onset):
        return None
    before, after = level_before(reward, onset) or 0.0, job.recent("reward/mean") or 0.0
    lower = job.lower_rate()
    fork = lower and job.fork(
        onset, {LEARNING_RATE: lower}, f"Continue with learning rate {format_number(lower)}"
    )
    updates = int(job.setting("algorithm.updates_per_step", 1))
    if updates > FEW_UPDATES and not _rate_is_extreme(job):  # a usual rate, applied too often
        path, label = "algorithm.updates_per_step", f"Continue with {FEW_UPDATES} updates per step"
        fork = job.fork(onset, {path: FEW_UPDATES}, label)
    return job.finding(
        "learning_rate_too_high",
        "error",
        onset,
        f"The reward fell {change_text(before, after)} at step {onset}, with a learning rate of "
        f"{format_number(rate)}.",
        numbers={"learning rate": rate, "reward before": before, "reward after": after},
        charts=("reward/mean", "held_out/reward_mean", "entropy/mean", "completions/truncated_share"),
        completions=True,
        advice=f"Lower the learning rate to {format_number(lower)}." if lower else None,
        remedies=(fork or None, job.take_best()),
        doubt=f"the learning rate of {format_number(rate)} destroyed the policy",
    )


def _fall(job: JobInput) -> int | None:
    """Step at which the training reward fell clearly below the base model's."""
    reward = job.curve("reward/mean")
    if len(reward) < 2:
        return None
    base = job.curve("held_out/reward_mean")
    start = max(base[0][1], reward[0][1] - job.chance()) if base else reward[0][1]
    after = reward[1:][-5:]
    recent = fmean(value for _, value in after)
    spread = job.curve("reward/std")[0][1] if job.curve("reward/std") else 0.0
    needed = LOST * start if start > 0 else spread
    if start > 0 and start <= NEVER_REWARDED:
        return None
    held = held_out_of(job.series, job.held_out_rows)
    if held is not None and held.worse_since is not None:
        needed = min(needed, 0.15 * abs(start))
    if start - recent <= max(needed, job.chance(len(after))):
        return None
    return fall_step(reward[1:], (start + recent) / 2)


def _destroyed_unseen(job: JobInput) -> bool:
    """Whether entropy and truncation rose sharply while the reward, always near 0, could not fall."""
    reward = job.curve("reward/mean")
    if job.reward_rises or fmean(value for _, value in reward) > NEVER_REWARDED:
        return False
    return _ratio(job.curve("entropy/mean")) > ENTROPY_DOUBLED and _truncated_jump(job) > TRUNCATED_JUMP


def _jump(job: JobInput) -> int | None:
    entropy = job.curve("entropy/mean")
    bound = ENTROPY_DOUBLED * entropy[0][1]
    return fall_step([(step, -value) for step, value in entropy], -bound)


def _abrupt(job: JobInput, onset: int) -> bool:
    """Whether the policy itself changed, not only its score."""
    held = held_out_of(job.series, job.held_out_rows)
    if held is not None and held.worse_since is not None:
        return True
    ratio = _ratio(job.curve("entropy/mean"))
    length = _ratio(job.curve("completions/length_mean"))
    skipped = job.curve("optimizer/skipped_updates")
    return (
        not ENTROPY_MOVED[0] < ratio < ENTROPY_MOVED[1]
        or _truncated_jump(job) > TRUNCATED_JUMP
        or not 1 / LENGTH_MOVED < length < LENGTH_MOVED
        or _ratio(job.curve("optimizer/grad_norm")) > NORM_JUMP
        or bool(skipped and skipped[-1][1] > 0)
    )


def _ratio(points: Points) -> float:
    """Ratio of a curve's recent level to its first value."""
    if len(points) < 2 or points[0][1] <= 0:
        return 1.0
    return fmean(value for _, value in points[1:][-5:]) / points[0][1]


def _truncated_jump(job: JobInput) -> float:
    points = job.curve("completions/truncated_share")
    return fmean(value for _, value in points[-5:]) - points[0][1] if points else 0.0


def _bonus(job: JobInput) -> float:
    if job.setting("algorithm.loss.entropy.type") == "adaptive":
        return float(job.recent("entropy/coefficient") or 0.0)
    return float(job.setting("algorithm.loss.entropy.coefficient", 0.0))


def _bonus_did_it(job: JobInput, onset: int) -> bool:
    """Whether an entropy bonus raised the entropy before the reward fell."""
    entropy = job.curve("entropy/mean")
    if not _bonus(job) or not entropy or _rate_is_extreme(job):
        return False
    rose = fall_step([(step, -value) for step, value in entropy], -ENTROPY_MOVED[1] * entropy[0][1])
    return rose is not None and rose <= onset


def _rate_is_extreme(job: JobInput) -> bool:
    return job.auto_rate is not None and job.rate is not None and job.rate > 4 * job.auto_rate


def learning_rate_too_low(job: JobInput) -> JobFinding | None:
    rate, entropy = job.rate, trend_of(job.curve("entropy/mean"))
    if rate is None or job.auto_rate is None or entropy is None or job.steps < FEWEST_UNMOVED_STEPS:
        return None
    if job.steps < UNMOVED_STEPS and job.steps * rate >= job.auto_rate:
        return None
    moved = abs(entropy.end - entropy.start) > UNMOVED_ENTROPY * abs(entropy.start)
    equal = job.recent("groups/zero_variance_share") or 0.0
    if rate >= SMALL_RATE * job.auto_rate or moved or job.reward_rises or equal > MANY_EQUAL:
        return None
    change = {LEARNING_RATE: job.auto_rate}
    label = f"Continue with learning rate {format_number(job.auto_rate)}"
    return job.finding(
        "learning_rate_too_low",
        "warning",
        job.curve("reward/mean")[0][0],
        f"Nothing has moved in {job.steps} steps with a learning rate of {format_number(rate)}.",
        numbers={"learning rate": rate, "automatic learning rate": job.auto_rate},
        charts=("reward/mean", "entropy/mean"),
        advice=f"Raise the learning rate to {format_number(job.auto_rate)}.",
        remedies=(
            job.live(LEARNING_RATE, job.auto_rate, f"Learning rate {format_number(job.auto_rate)}"),
            job.from_base(change, label),
        ),
    )


def kl_too_strong(job: JobInput) -> JobFinding | None:
    """Finding: one nat of KL costs more than one standard deviation of reward pays, and neither KL nor
    reward rises.
    """
    path = f"{job.kl}.beta"
    beta, distance = float(job.setting(path, 0.0)), job.recent("kl/mean")
    if beta < STRONG_KL or distance is None or job.steps < KL_STEPS or job.reward_rises:
        return None
    held = held_out_of(job.series, job.held_out_rows)
    equal = job.recent("groups/zero_variance_share") or 0.0
    if distance >= HELD_KL or equal > MANY_EQUAL or (held is not None and held.clear):
        return None
    label = f"KL β {format_number(USUAL_KL)}"
    return job.finding(
        "kl_too_strong",
        "warning",
        job.curve("reward/mean")[0][0],
        f"With a KL β of {format_number(beta)} the policy is {format_number(distance)} nat per token from the "
        f"reference after {job.steps} steps, and the reward does not rise.",
        numbers={"KL β": beta, "KL to the reference": distance},
        charts=("kl/mean", "reward/mean"),
        advice=f"Lower {path} to {format_number(USUAL_KL)}.",
        remedies=(
            job.live(path, USUAL_KL, label),
            job.from_base({path: USUAL_KL}, f"Train again with {label}"),
        ),
    )


def ratio_blow_up(job: JobInput) -> JobFinding | None:
    clipped = max(job.recent("policy/clip_high_share") or 0.0, job.recent("policy/clip_low_share") or 0.0)
    distance = job.recent("policy/old_kl") or 0.0
    by_sequence = job.setting("algorithm.loss.ratio_level", "token") != "token"
    if distance <= OLD_KL and (by_sequence or clipped <= CLIPPED):
        return None
    key = "policy/old_kl" if distance > OLD_KL else "policy/clip_high_share"
    bound = OLD_KL if distance > OLD_KL else CLIPPED / 2
    step = step_since(job.curve(key), lambda value: value > bound) or job.last_step
    updates = int(job.setting("algorithm.updates_per_step", 1))
    fewer = {"algorithm.updates_per_step": max(1, updates // 4)}
    lower = job.lower_rate()
    return job.finding(
        "ratio_blow_up",
        "warning",
        step,
        f"{format_percent(clipped)} of tokens are clipped; the policy moves {format_number(distance)} nat per "
        "token within a step.",
        numbers={"clipped share": clipped, "KL within a step": distance},
        charts=("policy/clip_high_share", "policy/clip_low_share", "policy/old_kl"),
        advice="Lower the number of updates per step or the learning rate.",
        remedies=(
            job.fork(step, fewer, f"Continue with {max(1, updates // 4)} updates per step")
            if updates > 1
            else None,
            job.live(LEARNING_RATE, lower, f"Learning rate {format_number(lower)}") if lower else None,
        ),
    )


def sampler_mismatch(job: JobInput) -> JobFinding | None:
    gap = job.recent("sampler/gap_mean") or 0.0
    effective = job.recent("sampler/effective_share")
    # Sampled ahead, log-probabilities differ by the latest update, too.
    ahead = bool(job.setting("rollout.ahead"))
    most, least = (LARGE_GAP, SMALL_EFFECTIVE) if ahead else (GAP, EFFECTIVE)
    if gap <= most and (effective is None or effective >= least):
        return None
    severe = gap > LARGE_GAP or (effective is not None and effective < SMALL_EFFECTIVE)
    step = step_since(job.curve("sampler/gap_mean"), lambda value: value > GAP / 2) or job.last_step
    return job.finding(
        "sampler_mismatch",
        "error" if severe else "warning",
        step,
        f"Log-probabilities of sampler and trainer differ by {format_number(gap)} nat per token; below 0.01 is "
        "normal.",
        numbers={"gap (nat per token)": gap, "effective sample size": effective},
        charts=("sampler/gap_mean", "sampler/effective_share"),
        advice="This is a precision or engine problem: correct for it, or use another engine.",
        remedies=(
            job.fork(step, {"rollout.engine": "transformers"}, "Continue with the engine transformers")
            if job.setting("rollout.engine") == "vllm"
            else None,
            job.fork(
                step,
                {"algorithm.loss.mismatch": {"type": "importance"}},
                "Continue with a correction of the gap",
            ),
        ),
    )


def entropy_collapse(job: JobInput) -> JobFinding | None:
    entropy, reward = job.curve("entropy/mean"), job.recent("reward/mean") or 0.0
    if len(entropy) < 10 or reward >= NEARLY_ALL or entropy[0][1] <= 0:
        return None
    baseline = fmean(value for _, value in entropy[:5])
    recent = fmean(value for _, value in entropy[-5:])
    later = trend_of(job.curve("reward/mean")[-20:])
    if recent > COLLAPSED * baseline or (later is not None and later.direction == "up"):
        return None
    held = held_out_of(job.series, job.held_out_rows)
    if held is not None and held.clear and not held.fell:
        return None  # a policy that has learned is more certain
    duplicates = job.curve("completions/duplicate_share")
    first = level_before(duplicates, duplicates[0][0] + 5) if duplicates else None
    more = (job.recent("completions/duplicate_share") or 0.0) - (first or 0.0)
    same = max(job.recent("groups/zero_variance_share") or 0.0, 0.0)
    if (duplicates and more < MORE_DUPLICATES and same < SATURATED) or (
        not duplicates and recent > COLLAPSED / 2 * baseline
    ):
        return None
    step = step_since(entropy, lambda value: value < SATURATED * baseline) or entropy[-1][0]
    lower = job.lower_rate()
    changes = job.with_kl(0.02)
    if (bound := job.setting(_EPS_HIGH)) is not None:
        changes[_EPS_HIGH] = max(0.28, bound)
    if lower:
        changes[LEARNING_RATE] = lower
    return job.finding(
        "entropy_collapse",
        "error",
        step,
        f"Entropy fell {change_text(baseline, recent, 'nat')} while the reward is only {format_reward(reward)}.",
        numbers={"entropy at the start": baseline, "entropy": recent, "more duplicates": more},
        charts=("entropy/mean", "completions/duplicate_share", "groups/zero_variance_share"),
        completions=True,
        advice="Lower the learning rate, add a KL weight (algorithm.loss.kl.beta) or raise the upper clip bound.",
        remedies=(job.fork(step, changes, "Continue with more exploration"), job.take_best()),
    )


def entropy_blow_up(job: JobInput) -> JobFinding | None:
    entropy = job.curve("entropy/mean")
    trend = trend_of(entropy)
    if trend is None or trend.direction != "up" or trend.end <= ENTROPY_DOUBLED * trend.start:
        return None
    bound = ENTROPY_MOVED[1] * trend.start
    step = fall_step([(at, -value) for at, value in entropy], -bound) or entropy[-1][0]
    bonus, lower = _bonus(job), job.lower_rate()
    if not bonus and job.reward_rises:
        return None  # what is rewarded is more varied than what the base wrote
    if bonus:
        remedy = job.fork(
            step, {"algorithm.loss.entropy": {"type": "none"}}, "Continue without entropy bonus"
        )
        advice = "Remove the entropy bonus, or lower its coefficient."
    else:
        label = f"Continue with learning rate {format_number(lower or 0)}"
        remedy = job.fork(step, {LEARNING_RATE: lower} if lower else {}, label)
        advice = "Lower the learning rate."
    fell = _fall(job) is not None
    return job.finding(
        "entropy_blow_up",
        "error" if fell else "warning",
        step,
        f"Entropy rose {change_text(trend.start, trend.end, 'nat')} per token."
        + (f" The entropy bonus is {format_number(bonus)}." if bonus else ""),
        numbers={"entropy at the start": trend.start, "entropy": trend.end, "entropy bonus": bonus or None},
        charts=("entropy/mean", "reward/mean"),
        completions=True,
        advice=advice,
        remedies=(remedy, job.take_best()),
    )


def reference_drift(job: JobInput) -> JobFinding | None:
    distance = job.recent("kl/mean")
    target = job.setting(f"{job.kl}.adaptive.target")
    bound = DRIFT * target if target else FREE_DRIFT
    if distance is None or distance <= bound:
        return None
    step = step_since(job.curve("kl/mean"), lambda value: value > DRIFT_BEGUN * bound) or job.last_step
    path = f"{job.kl}.beta"
    beta = float(job.setting(path, 0.0))
    higher = float(f"{max(0.01, 4 * beta):.2g}")
    return job.finding(
        "reference_drift",
        "error" if target else "warning",
        step,
        f"The policy is {format_number(distance)} nat per token from the reference"
        + (f"; the target is {format_number(target)}." if target else "."),
        numbers={"KL to the reference": distance, "target": target},
        unit="nat",
        charts=("kl/mean",),
        advice=f"Raise {path}, or refresh the reference.",
        remedies=(
            job.live(path, higher, f"KL β {format_number(higher)}") if not target else None,
            job.fork(step, {path: higher}, f"Continue with KL β {format_number(higher)}"),
            job.take_best(),
        ),
    )
