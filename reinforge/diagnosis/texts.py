"""Title of each finding, and why it matters."""

from typing import NamedTuple

from reinforge.diagnosis.finding import FindingCode


class FindingText(NamedTuple):
    title: str
    why: str


TEXTS: dict[FindingCode, FindingText] = {
    "all_truncated": FindingText(
        "Nearly all completions are truncated",
        "A completion that hits the token limit has no end, so most rewards cannot find its answer.",
    ),
    "answers_disagree": FindingText(
        "Reward and reference answers disagree",
        "The dataset declares the right answers, and the reward pays for something else.",
    ),
    "domain_interference": FindingText(
        "A slice gets worse while the whole gets better",
        "The mean hides that the job unlearns a part of the data.",
    ),
    "entropy_blow_up": FindingText(
        "Entropy rises",
        "The policy becomes random: its completions lose their meaning, and the reward follows.",
    ),
    "entropy_collapse": FindingText(
        "The policy stopped exploring",
        "All completions of a prompt become the same, so groups differ no more and learning stops early.",
    ),
    "equal_lengths": FindingText(
        "All completions have the same length",
        "A length reward that is compared within a group pays nothing where all lengths are equal: "
        "the policy evades it by filling up to the limit.",
    ),
    "format_gaming": FindingText(
        "Format is right, answers get worse",
        "The policy collects the reward for the format and gives up on the content.",
    ),
    "gradient_not_finite": FindingText(
        "Gradient is not finite",
        "The update was skipped. If it repeats, the job learns nothing.",
    ),
    "groups_all_equal": FindingText(
        "Most groups have equal rewards",
        "Where all completions of a prompt score the same, there is nothing to learn from.",
    ),
    "groups_all_wrong": FindingText(
        "Most groups score 0",
        "Where no completion of a prompt is rewarded, there is nothing to learn from.",
    ),
    "judge_disagrees": FindingText(
        "Judge and rule disagree",
        "One of them measures something other than you want, and the policy follows the one that pays more.",
    ),
    "kl_too_strong": FindingText(
        "KL penalty is too strong",
        "Any step away from the reference costs more than its reward pays, so the policy stays where it is.",
    ),
    "leakage": FindingText(
        "Held-out rows are in the training data",
        "The held-out reward then measures memory, and looks better than the model is.",
    ),
    "learning_rate_too_high": FindingText(
        "Learning rate is too high",
        "Too large updates destroy the policy. Everything that followed, such as truncated completions, "
        "is a consequence.",
    ),
    "learning_rate_too_low": FindingText(
        "Learning rate is too low",
        "Groups differ and the policy could learn, but the updates are too small to see.",
    ),
    "length_bias": FindingText(
        "Wrong completions get longer than right ones",
        "With a loss that divides by the length, a long wrong completion is punished less per token.",
    ),
    "length_collapse": FindingText(
        "Completions became very short",
        "The policy avoids the reward's penalties by saying little.",
    ),
    "length_inflation": FindingText(
        "Completions get longer but not better",
        "Longer completions cost time and memory, and end at the token limit.",
    ),
    "no_generalization": FindingText(
        "No gain on held-out rows",
        "The policy improves on the rows that it is trained on, and not on others.",
    ),
    "no_repeated_states": FindingText(
        "States are visited once only",
        "An advantage that compares visits of one state has nothing to compare.",
    ),
    "one_sided_groups": FindingText(
        "Groups have too few on one side",
        "Normalising right and wrong completions separately needs at least two of each.",
    ),
    "past_best": FindingText(
        "Past the best checkpoint",
        "Training on makes the held-out reward worse.",
    ),
    "peak_then_collapse": FindingText(
        "Collapsed after a peak",
        "What the job had learned is lost, and steps after the peak are wasted.",
    ),
    "policy_gives_up": FindingText(
        "The policy gives up",
        "Under a checker that is hard to please, doing less is safer than trying: answers get short, do without tools, "
        "or leave the language of the prompt.",
    ),
    "ratio_blow_up": FindingText(
        "Policy moves too far within a step",
        "Clipping throws away the tokens whose probability moved most; the rest of the update is unreliable.",
    ),
    "reference_drift": FindingText(
        "Policy leaves the reference",
        "Far from the reference the model loses other abilities and finds flaws of the reward.",
    ),
    "reward_constant": FindingText(
        "All completions score the same",
        "No completion is better than another, so there is no training signal.",
    ),
    "reward_domination": FindingText(
        "One reward decides alone",
        "The other rewards have no influence on what is learned, whatever their weights say.",
    ),
    "reward_failing": FindingText(
        "Reward fails",
        "Completions without a reward are not trained on, and their absence biases what is learned.",
    ),
    "reward_follows_digits": FindingText(
        "Reward follows the share of digits",
        "The policy can raise the reward by writing numbers, right or wrong.",
    ),
    "reward_follows_format": FindingText(
        "Reward follows the format",
        "The policy can raise the reward by markup alone, right or wrong.",
    ),
    "reward_follows_length": FindingText(
        "Reward follows length",
        "The policy can raise the reward by writing more, or less, right or wrong.",
    ),
    "reward_follows_repetition": FindingText(
        "Reward follows repetition",
        "The policy can raise the reward by repeating itself.",
    ),
    "reward_hacking": FindingText(
        "Training reward rises, held-out quality falls",
        "The policy has learned to please the reward instead of solving the task.",
    ),
    "reward_labels_collapsed": FindingText(
        "Judge gives nearly always the same label",
        "A label that never changes says nothing about a completion.",
    ),
    "reward_slow": FindingText(
        "Reward is slow",
        "The accelerator waits for rewards most of the time.",
    ),
    "reward_unreachable": FindingText(
        "No completion is ever rewarded",
        "A reward that no completion gets gives no signal, however long the job runs.",
    ),
    "rubric_saturated": FindingText(
        "Most parts of the reward are always or never met",
        "Such parts do not tell completions apart.",
    ),
    "sampler_mismatch": FindingText(
        "Sampler and trainer disagree",
        "The policy that samples is not the one that is trained, so the gradient is biased.",
    ),
    "signal_stalled": FindingText(
        "No training signal",
        "Nearly all advantages are 0, so updates change nothing.",
    ),
    "tool_calls_fail": FindingText(
        "Tool calls fail",
        "A call that does not run returns nothing to answer with, and the policy learns to do without tools.",
    ),
    "tools_abandoned": FindingText(
        "The policy stopped calling tools",
        "Without calls it answers from memory: what the tools were to teach is not learned.",
    ),
    "tools_do_not_help": FindingText(
        "Tools do not help",
        "The policy calls tools and its answers stay wrong, or it hardly calls them: it does not learn to act on "
        "results.",
    ),
    "truncated": FindingText(
        "Truncated completions",
        "A completion that hits the token limit has no end, so most rewards cannot find its answer.",
    ),
    "witness_disagrees": FindingText(
        "A reward of weight 0 disagrees",
        "The reward of weight 0 does not follow the trained reward: the job optimizes something else.",
    ),
    "worse_than_base": FindingText(
        "Worse than base",
        "The trained model is worse on held-out rows than the model that it started from.",
    ),
}  # fmt: skip
