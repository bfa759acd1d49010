"""Detectors about the length of completions."""

from statistics import fmean

from reinforge.algorithm.loss import BY_COMPLETION
from reinforge.diagnosis.curve import step_since, trend_of
from reinforge.diagnosis.finding import JobFinding, Remedy
from reinforge.diagnosis.formats import format_number, format_percent
from reinforge.diagnosis.held_out_change import held_out_of
from reinforge.diagnosis.job_input import JobInput, change_text, level_before
from reinforge.diagnosis.reward_remedies import reward_remedies

TRUNCATED = 0.2
ALL_TRUNCATED = 0.9
NEARLY_ALL_TRUNCATED = 0.7
"""Bound for single steps if their mean is above `ALL_TRUNCATED`, because some lie below the mean."""
INFLATED, DOUBLED = 1.5, 2.0
LONGER, MUCH_LONGER = 1.3, 1.7
BIAS_STEPS = 20
GROWN_STEPS = 10
"""Steps after the growth before its effect on the reward is judged: a policy reasons longer first, and
correctly some steps later."""
SHORT = 0.3
EQUAL_GROUPS = 0.5
NEAR_LIMIT = 0.9
FILLER = 0.5
"""Share of repeated tokens or digits from which on a completion is filler."""
_LIMIT = "rollout.max_completion_tokens"


def _more_tokens(job: JobInput, step: int, factor: int) -> Remedy | None:
    limit = job.setting(_LIMIT)
    if limit is None:
        return None
    prompt = job.setting("rollout.max_prompt_tokens")
    more = factor * limit if prompt is None else min(factor * limit, (limit + prompt) // 2)
    if more <= limit:
        return None
    return job.fork(step, {_LIMIT: more}, f"Continue with {more} tokens per completion")


def _loss_per_token(job: JobInput, step: int) -> Remedy | None:
    by_completion = job.setting("algorithm.loss.ratio_level", "token") in BY_COMPLETION
    if by_completion or job.setting("algorithm.loss.aggregation.type") != "seq_mean":
        return None
    change = {"algorithm.loss.aggregation": {"type": "token_mean"}}
    return job.fork(step, change, "Continue with a loss per token")


def truncated(job: JobInput) -> JobFinding | None:
    curve, share = job.curve("completions/truncated_share"), job.recent("completions/truncated_share") or 0.0
    if share <= TRUNCATED:
        return None
    whole = share >= ALL_TRUNCATED
    bound = NEARLY_ALL_TRUNCATED if whole else TRUNCATED
    step = step_since(curve, lambda value: value > bound) or curve[-1][0]
    text = f"{format_percent(share)} of completions hit the token limit"
    return job.finding(
        "all_truncated" if whole else "truncated",
        "error" if whole or not job.reward_rises else "warning",
        step,
        f"{text}.",
        numbers={"truncated share": share, "token limit": job.setting(_LIMIT)},
        charts=("completions/truncated_share", "completions/length_mean"),
        completions=True,
        advice=f"Raise {_LIMIT} or reward shorter answers.",
        remedies=(_more_tokens(job, step, 8 if whole else 4),),
        doubt=text if whole else None,
    )


def length_inflation(job: JobInput) -> JobFinding | None:
    length, reward = trend_of(job.curve("completions/length_mean")), trend_of(job.curve("reward/mean"))
    if length is None or reward is None or length.end <= INFLATED * length.start:
        return None
    held = held_out_of(job.series, job.held_out_rows)
    better = held.clear if held is not None else reward.direction == "up"
    if better or (held is not None and reward.direction == "up" and not held.fell):
        return None
    curve = job.curve("completions/length_mean")
    step = step_since(curve, lambda value: value > (1 + INFLATED) / 2 * length.start) or curve[-1][0]
    if _pays(job, step):
        return None
    change = change_text(length.start, length.end, "tokens")
    return job.finding(
        "length_inflation",
        "error" if length.end > DOUBLED * length.start and reward.direction == "down" else "warning",
        step,
        f"Completions went {change}; the reward did not rise.",
        numbers={"length at the start": length.start, "length": length.end},
        unit="tokens",
        charts=("completions/length_mean", "held_out/reward_mean"),
        completions=True,
        advice="Read some completions: the reward may favor length. A loss per token (Dr. GRPO) does not.",
        remedies=(_loss_per_token(job, step),),
    )


def _pays(job: JobInput, grown: int) -> bool:
    """Whether the reward rose after the length grew; True until `GROWN_STEPS` steps have followed."""
    reward = job.curve("reward/mean")
    after = [value for step, value in reward if step >= grown]
    before = level_before(reward, grown) or 0.0

    def higher(values: list[float]) -> bool:
        return fmean(values) > before + job.chance(len(values)) / 3

    return len(after) < GROWN_STEPS or higher(after) or higher(after[:GROWN_STEPS])


def length_bias(job: JobInput) -> JobFinding | None:
    right = dict(job.curve("completions/length_right_mean"))
    ratios = [
        (step, wrong / right[step])
        for step, wrong in job.curve("completions/length_wrong_mean")
        if right.get(step)
    ]
    trend, longer = trend_of(ratios), trend_of(job.curve("completions/length_wrong_mean"))
    if longer is None or longer.direction != "up":
        return None
    if trend is None or len(ratios) < BIAS_STEPS or trend.direction != "up" or trend.end <= LONGER:
        return None
    step = step_since(ratios, lambda value: value > LONGER) or ratios[-1][0]
    return job.finding(
        "length_bias",
        "error" if trend.end > MUCH_LONGER and not job.reward_rises else "warning",
        step,
        f"Wrong completions are {format_number(trend.end)} times as long as right ones, at first "
        f"{format_number(trend.start)} times.",
        numbers={"ratio at the start": trend.start, "ratio": trend.end},
        charts=("completions/length_wrong_mean", "completions/length_right_mean"),
        advice="Average the loss over tokens (algorithm.loss.aggregation) instead of over completions.",
        remedies=(_loss_per_token(job, step),),
    )


def length_collapse(job: JobInput) -> JobFinding | None:
    curve = job.curve("completions/length_mean")
    recent = job.recent("completions/length_mean")
    first = level_before(curve, curve[0][0] + 3) if curve else None
    if recent is None or first is None or len(curve) < 10 or recent >= SHORT * first or job.reward_rises:
        return None
    step = step_since(curve, lambda value: value < (1 + SHORT) / 2 * first) or curve[-1][0]
    return job.finding(
        "length_collapse",
        "error",
        step,
        f"Completions went {change_text(first, recent, 'tokens')}; the reward did not rise.",
        numbers={"length at the start": first, "length": recent},
        unit="tokens",
        charts=("completions/length_mean", "reward/mean"),
        completions=True,
        advice="Reward a minimum of reasoning, or lower what is subtracted for errors and length.",
        remedies=(job.take_best(),),
    )


def equal_lengths(job: JobInput) -> JobFinding | None:
    share, limit = job.recent("groups/equal_length_share") or 0.0, job.setting(_LIMIT)
    length = job.recent("completions/length_mean")
    if share <= EQUAL_GROUPS or limit is None or length is None or length < NEAR_LIMIT * limit:
        return None
    filler = max(
        job.recent("completions/repeated_share") or 0.0, job.recent("completions/digit_share") or 0.0
    )
    curve = job.curve("groups/equal_length_share")
    if filler < FILLER or len(curve) < 5 or curve[0][1] > EQUAL_GROUPS:
        return None
    step = step_since(curve, lambda value: value > EQUAL_GROUPS) or curve[-1][0]
    return job.finding(
        "equal_lengths",
        "error",
        step,
        f"In {format_percent(share)} of groups all completions are about {format_number(length)} tokens long, and "
        f"{format_percent(filler)} of them is filler.",
        numbers={"share of groups": share, "length (tokens)": length, "filler": filler},
        charts=("groups/equal_length_share", "completions/length_mean", "completions/repeated_share"),
        completions=True,
        advice="Pay for an absolute length, and never for length alone; require an end of the answer.",
        remedies=reward_remedies(job),
        doubt="completions are filled up to the limit",
    )
