"""Every metric name once: unit, meaning, how to read it. Page, docs and trainer all use this table."""

from reinforge.metric import JUDGES, Metric

_ALL = [
    Metric(
        "reward/mean",
        "reward",
        "Reward",
        "Mean combined reward of the step's scored completions.",
        "The headline. Watch the held-out reward beside it.",
        "higher",
    ),
    Metric(
        "reward/p10", "reward", "Reward, 10th percentile", "A tenth of the step's completions score lower."
    ),
    Metric(
        "reward/p90", "reward", "Reward, 90th percentile", "A tenth of the step's completions score higher."
    ),
    Metric("reward/std", "reward", "Reward spread", "Standard deviation over the step's completions."),
    Metric(
        "reward/error_share",
        "share",
        "Reward errors",
        "Completions without a reward because one failed.",
        "Above a few percent: read the messages beside the completions.",
        "lower",
    ),
    *JUDGES,
    Metric(
        "groups/zero_variance_share",
        "share",
        "Groups without signal",
        "Groups whose completions all score the same, so that their advantages are 0.",
        "They teach nothing: harder or easier rows would use the time better.",
        "lower",
    ),
    Metric("groups/all_right_share", "share", "Groups all right", "Uniform groups with a reward above 0."),
    Metric(
        "groups/all_wrong_share",
        "share",
        "Groups all wrong",
        "Uniform groups with a reward of 0 or less.",
        "",
        "lower",
    ),
    Metric(
        "select/rounds",
        "count",
        "Rounds of sampling",
        "How often prompts were sampled for the step.",
        "At the bound the step trains on the groups that it has.",
        when="algorithm.selection: dynamic_sampling",
    ),
    Metric(
        "select/uniform_share",
        "share",
        "Groups left out as uniform",
        "Groups without a spread in reward, of all that were sampled for the step.",
        "",
        "lower",
        when="algorithm.selection: dynamic_sampling",
    ),
    Metric(
        "select/missing_groups",
        "count",
        "Groups missing",
        "Groups that the step trains on fewer than it should, because the bound on sampling was reached.",
        "",
        "lower",
        when="algorithm.selection: dynamic_sampling",
    ),
    Metric(
        "select/kept_share",
        "share",
        "Completions kept",
        "Completions trained on, of those that could have been.",
        when="algorithm.selection: gfpo",
    ),
    Metric(
        "select/repaired_share",
        "share",
        "Completions repaired",
        "Completions with less than full reward that were told so, shown the answer or replaced by the solution.",
        when="algorithm.selection: guided_correction",
    ),
    Metric(
        "select/triggered_share",
        "share",
        "Prompts sampled again",
        "Prompts on which every completion that used a tool was wrong.",
        when="algorithm.selection: axpo",
    ),
    Metric(
        "advantage/lone_side_share",
        "share",
        "Groups with a lone side",
        "Groups with fewer than two right or two wrong completions, of those with both.",
        "Above 0.3: with norm_scope separate their advantages are noise; take joint.",
        "lower",
        when="algorithm.advantage: gtpo or grpo_s",
    ),
    Metric(
        "advantage/visits_per_state",
        "count",
        "Visits per state",
        "How often the states of a step were met, on average.",
        "Below 1.5 values of states say little.",
        "higher",
        when="algorithm.advantage: gagpo",
    ),
    Metric(
        "critic/explained_variance",
        "share",
        "Critic's explained variance",
        "Share of the spread in returns that the critic foresaw, before the step's updates.",
        "Towards 1 is good; near 0 its values are no better than their mean, below 0 they mislead.",
        "higher",
        when="algorithm.critic",
    ),
    Metric(
        "critic/loss",
        "loss",
        "Critic's loss",
        "Half the squared distance of values from returns per token, bound included.",
        "",
        "lower",
        when="algorithm.critic",
    ),
    Metric(
        "critic/value_mean",
        "reward",
        "Critic's values",
        "Mean value per token before the step's updates: the reward that the critic expects.",
        "Follows the returns.",
        when="algorithm.critic",
    ),
    Metric(
        "critic/return_mean",
        "reward",
        "Returns",
        "Mean per token of what the critic is to predict.",
        when="algorithm.critic",
    ),
    Metric(
        "critic/clip_share",
        "share",
        "Critic's clipped values",
        "Tokens whose value is held back by algorithm.critic.clip_range.",
        "High: fewer updates per step, a lower rate or a wider range.",
        when="algorithm.critic",
    ),
    Metric(
        "critic/grad_norm",
        "norm",
        "Critic's gradient norm",
        "Before clipping, mean over the step's updates.",
        when="algorithm.critic",
    ),
    Metric(
        "completions/length_mean",
        "tokens",
        "Completion length",
        "Mean tokens per completion, end token included.",
    ),
    Metric(
        "completions/length_p90", "tokens", "Length, 90th percentile", "A tenth of completions are longer."
    ),
    Metric(
        "completions/truncated_share",
        "share",
        "Truncated",
        "Completions that hit the token limit.",
        "High: raise rollout.max_completion_tokens or reward shorter answers.",
        "lower",
    ),
    Metric(
        "entropy/mean",
        "nat",
        "Entropy",
        "Mean full-vocabulary entropy per completion token under the policy.",
        "Falls as the policy commits; near 0 early means it has stopped exploring.",
    ),
    Metric(
        "entropy/coefficient",
        "weight",
        "Entropy bonus",
        "Coefficient of the adaptive entropy bonus in the next update; 0 while the entropy is above its target.",
        when="algorithm.loss.entropy: adaptive",
    ),
    Metric(
        "kl/mean",
        "nat",
        "KL to reference",
        "Mean k3 estimate per token between policy and reference.",
        "Only measured when something reads the reference, such as algorithm.loss.kl.beta > 0.",
        when="something reads the reference",
    ),
    Metric(
        "kl/coefficient",
        "weight",
        "KL coefficient",
        "β of the KL penalty in the next step.",
        "Rises while the KL is above its target.",
        when="algorithm.loss.kl.adaptive",
    ),
    Metric(
        "policy/ratio_mean",
        "ratio",
        "Policy ratio",
        "Mean of policy over old probability per token.",
        "Exactly 1 with one update per step.",
    ),
    Metric("policy/clip_low_share", "share", "Clipped low", "Tokens held back by the lower clip bound."),
    Metric("policy/clip_high_share", "share", "Clipped high", "Tokens held back by the upper clip bound."),
    Metric(
        "policy/off_policy_share",
        "share",
        "Left out as off-policy",
        "Tokens of bad completions whose policy term was left out because the policy has moved away from them.",
        "Only measured with algorithm.loss.off_policy_mask. High: fewer updates per step.",
        when="algorithm.loss.off_policy_mask",
    ),
    Metric(
        "loss/lambda",
        "exponent",
        "λ of lengths",
        "Trained exponent of λ-GRPO after the step's updates: above 0 favours long completions, below 0 short ones.",
        "Drifts to the lengths that go with positive advantages.",
        when="algorithm.loss.aggregation: lambda",
    ),
    Metric(
        "loss/policy",
        "loss",
        "Policy loss",
        "Value of the surrogate.",
        "Near 0 by construction: advantages of a group sum to 0. It says nothing about progress.",
    ),
    Metric("optimizer/grad_norm", "norm", "Gradient norm", "Before clipping, mean over the step's updates."),
    Metric("optimizer/learning_rate", "rate", "Learning rate", "Of the step's last update."),
    Metric("optimizer/updates", "count", "Updates", "Optimizer updates since the start."),
    Metric(
        "optimizer/skipped_updates",
        "count",
        "Updates left out",
        "Updates not made since the start because the gradient was not finite.",
        "",
        "lower",
    ),
    Metric(
        "sampler/gap_mean",
        "nat",
        "Trainer-sampler gap",
        "Mean |trainer - sampler log-probability| per token that the trainer looked at.",
        "Above 0.01: sampler and trainer disagree about the policy.",
        "lower",
    ),
    Metric(
        "sampler/gap_max",
        "nat",
        "Trainer-sampler gap, largest",
        "Largest gap over the tokens that the trainer looked at.",
        "",
        "lower",
    ),
    Metric(
        "sampler/weight_mean",
        "ratio",
        "Correction weight",
        "Mean weight that corrects for the trainer-sampler gap, per token.",
        "Only measured with algorithm.loss.mismatch. Far from 1: the two disagree, or the bounds cut much.",
        when="algorithm.loss.mismatch",
    ),
    Metric("tokens/trained", "tokens", "Tokens trained", "Completion tokens trained on since the start."),
    Metric(
        "throughput/completions_per_second",
        "1/s",
        "Throughput",
        "Completions per second of step time.",
        "",
        "higher",
    ),
    Metric(
        "throughput/tokens_per_second",
        "tokens/s",
        "Token throughput",
        "Completion tokens per second.",
        "",
        "higher",
    ),
    Metric("time/step", "s", "Step time", "Wall time of the step.", "", "lower"),
    Metric("time/generate", "s", "Generating", "Wall time spent sampling.", "", "lower"),
    Metric("time/score", "s", "Scoring", "Wall time spent waiting for rewards.", "", "lower"),
    Metric(
        "time/update", "s", "Updating", "Wall time of log-probabilities, loss and optimizer.", "", "lower"
    ),
    Metric(
        "memory/peak",
        "GiB",
        "Memory",
        "Peak memory of the trainer process (GPU memory on a GPU).",
        "",
        "lower",
    ),
    Metric(
        "memory/state",
        "GiB",
        "Memory of the state",
        "Weights, gradients and optimizer state of base model, policy and critic; what passes need comes on top.",
        "",
        "lower",
    ),
    Metric(
        "held_out/reward_mean",
        "reward",
        "Held-out reward",
        "Mean reward on rows that are never trained on.",
        "The number that counts.",
        "higher",
    ),
    Metric("held_out/reward_std_error", "reward", "Held-out standard error", "Over rows."),
    Metric(
        "held_out/length_mean", "tokens", "Held-out length", "Mean tokens per completion on held-out rows."
    ),
    Metric(
        "held_out/error_share", "share", "Held-out reward errors", "Held-out completions without a reward."
    ),
]

METRICS: dict[str, Metric] = {metric.key: metric for metric in _ALL}


_AT_K = {
    "pass": ("share", "Probability that at least one of {k} completions of a held-out row passes."),
    "best": ("reward", "Expected best reward of {k} completions of a held-out row."),
    "maj": (
        "share",
        "Probability that the most frequent answer of {k} completions of a held-out row passes.",
    ),
}
_OF_SLICES = {
    "reward_mean": ("reward", "Mean combined reward"),
    "pass_share": ("share", "Completions that pass"),
    "length_mean": ("tokens", "Mean tokens per completion"),
    "kl_mean": ("nat", "Mean over completions of the k3 estimate per token between policy and reference"),
}


def describe(key: str) -> Metric:
    """The metric behind a key. Made as they come: `reward/<name>/mean`, `…/part/<part>`, `…/label/<label>` per reward,
    `held_out/pass@<k>` with `…/low` and `…/high`, `slice/<value>/…` per value of `data.columns.slice`."""
    if key in METRICS:
        return METRICS[key]
    if key.startswith("held_out/") and "@" in key:
        return _at_k(key)
    if key.startswith(("slice/", "held_out/slice/")):
        return _of_slice(key)
    if key.startswith("reward/") and "/label/" in key:
        return _of_label(key)
    if key.startswith("reward/") and key.endswith("/spared"):
        name = key.removeprefix("reward/").removesuffix("/spared")
        return Metric(key, "share", f"Spared {name}", "Completions that a gate kept away from this part.")
    if key.startswith("reward/") and key.count("/") >= 2:
        name = key.split("/", 1)[1]
        return Metric(
            key,
            "reward",
            f"Reward {name}",
            "Mean over the step's completions where it applies.",
            "",
            "higher",
        )
    return Metric(key, "", key, "")


def _of_label(key: str) -> Metric:
    name, _, label = key.removeprefix("reward/").partition("/label/")
    meaning = f"Share of the step's labelled completions that {name} calls {label}."
    return Metric(key, "share", f"{name}: {label}", meaning)


def _at_k(key: str) -> Metric:
    name, _, end = key.removeprefix("held_out/").partition("/")
    kind, _, k = name.partition("@")
    unit, meaning = _AT_K[kind]
    edge = {"low": ", lower end", "high": ", upper end"}.get(end, "")
    reading = (
        "End of the 95 % bootstrap interval over rows." if end else "Estimated from all samples of a row."
    )
    return Metric(key, unit, f"{name}{edge}", meaning.format(k=k), reading, "higher")


def _of_slice(key: str) -> Metric:
    *_, value, name = key.split("/")
    unit, meaning = _OF_SLICES[name]
    rows = "held-out rows" if key.startswith("held_out/") else "the step's rows"
    return Metric(key, unit, f"{meaning}, {value}", f"{meaning} on {rows} of slice {value}.")
