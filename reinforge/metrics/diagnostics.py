"""Metrics that findings are made from."""

from reinforge.metrics.definition import Metric

_DECLARED = "data.columns.answer"


def _correlation(key: str, title: str, with_what: str, reading: str, when: str = "") -> Metric:
    meaning = f"Correlation of reward with {with_what} within groups."
    return Metric(key, "correlation", title, meaning, reading, when=when)


DIAGNOSTICS = (
    _correlation(
        "reward/repetition_correlation",
        "Reward and repetition",
        "the share of repeated 3-grams of tokens",
        "Above 0.7 the reward may pay for repetition.",
    ),
    _correlation(
        "reward/digit_correlation",
        "Reward and digits",
        "the share of digits among characters",
        "Above 0.7 the reward may pay for numbers, right or wrong.",
    ),
    _correlation(
        "reward/markup_correlation",
        "Reward and markup",
        "the share of brackets, quotes and other markup among characters",
        "Above 0.7 the reward may pay for the format alone.",
    ),
    _correlation(
        "reward/answer_correlation",
        "Reward and right answers",
        "whether a completion ends in the declared answer",
        "Near 0 or below: the reward measures something else.",
        _DECLARED,
    ),
    Metric(
        "completions/answer_share",
        "share",
        "Right answers",
        "Completions whose final answer is that of `data.columns.answer`: a number, or a short text.",
        "A witness beside the reward: where the reward rises and this falls, the reward pays for something else.",
        "higher",
        when=_DECLARED,
    ),
    Metric("completions/length_p95", "tokens", "Length, 95th percentile", "One in 20 completions is longer."),
    Metric(
        "completions/length_right_mean",
        "tokens",
        "Length of passing completions",
        "Mean tokens of completions with a reward above evaluation.pass_above.",
    ),
    Metric(
        "completions/length_wrong_mean",
        "tokens",
        "Length of other completions",
        "Mean tokens of completions with a lower reward.",
        "Rising while passing ones stay: the loss punishes long wrong completions too little.",
    ),
    Metric(
        "completions/repeated_share",
        "share",
        "Repetition",
        "3-grams of tokens that occurred before in the completion, mean over completions.",
        "",
        "lower",
    ),
    Metric("completions/digit_share", "share", "Digits", "Share of digits among characters."),
    Metric("completions/markup_share", "share", "Markup", "Share of brackets, quotes and other markup."),
    Metric(
        "completions/off_language_share",
        "share",
        "Letters of other scripts",
        "Letters of a script that the row does not use, such as Chinese in answers to English questions, among all "
        "letters. Latin and Greek letters do not count.",
        "Above 5 %: the policy leaves the language of its prompts. Languages of one script are not distinguished.",
        "lower",
    ),
    Metric(
        "completions/duplicate_share",
        "share",
        "Duplicates",
        "1 - distinct completions of a prompt / all of them.",
        "Rising: the policy explores less.",
        "lower",
    ),
    Metric(
        "groups/length_variation",
        "ratio",
        "Variation of lengths",
        "Standard deviation over mean of the lengths of a group, mean over groups.",
    ),
    Metric(
        "groups/equal_length_share",
        "share",
        "Groups of equal lengths",
        "Groups whose lengths vary by less than 2%.",
        "High with a length reward: the policy evades it.",
    ),
    Metric("entropy/p10", "nat", "Entropy, 10th percentile", "A tenth of the tokens have less."),
    Metric("entropy/p90", "nat", "Entropy, 90th percentile", "A tenth of the tokens have more."),
    Metric(
        "advantage/zero_share",
        "share",
        "Zero advantages",
        "Trained tokens with an advantage of 0; 1 if no token is trained.",
        "Near 1: nothing is learned.",
        "lower",
    ),
    Metric("advantage/abs_mean", "advantage", "Size of advantages", "Mean |advantage| per trained token."),
    Metric(
        "policy/old_kl",
        "nat",
        "KL from the old policy",
        "Mean k3 estimate per token between the policy that sampled and the policy within the step's updates.",
        "0 with one update per step.",
        "lower",
    ),
    Metric(
        "policy/log_ratio_max",
        "nat",
        "Log-ratio, largest",
        "Largest |log policy - log old policy| of a token within the step's updates.",
        "0 with one update per step.",
        "lower",
    ),
    Metric(
        "sampler/effective_share",
        "share",
        "Effective sample size",
        "(Σu)² / (n Σu²) of the token weights u between trainer and sampler.",
        "Below 0.9: sampler and trainer disagree about the policy.",
        "higher",
    ),
    Metric(
        "sampler/kl",
        "nat",
        "KL to the sampler",
        "Mean k3 estimate per token, trainer and sampler.",
        "",
        "lower",
    ),
)
