"""Presets of well-known reports and libraries, with their numbers."""

from reinforge.presets.base import TOKEN_MEAN, Preset, clip, recipe

RECIPES: dict[str, Preset] = {
    "deepseekmath": Preset(
        title="DeepSeekMath",
        summary=(
            "GRPO as first published: large groups, a k3 penalty of 0.04 that keeps the policy near the base model, "
            "one update per step. Choose it to repeat the paper, or when the model must not drift far."
        ),
        formula="GRPO + 0.04·k3",
        source="Shao et al. 2024 (arXiv 2402.03300), section 4",
        deviations=("Rewards and their replay are the job's own.",),
        slots={"loss": {"kl": {"beta": 0.04}}},
        published_rate=1e-6,
        recipe=recipe(group=64, prompts=16, updates=1, tokens=1024),
    ),
    "r1_zero": Preset(
        title="DeepSeek-R1-Zero",
        summary=(
            "GRPO with an almost open clip of 10, a small KL penalty and sixteen updates per step, on rewards for "
            "accuracy and format. Choose it to repeat the report. So wide a clip relies on small learning rates."
        ),
        formula="GRPO with clip(w, 0, 11) + 0.001·k3",
        source="DeepSeek-AI 2025, DeepSeek-R1 (arXiv 2501.12948); ε = 10 as TRL's paper index quotes it",
        deviations=(
            "Tokens are compared one by one, as every implementation does; the report prints outputs.",
        ),
        slots={"loss": {"surrogate": clip(1.0, 10.0), "kl": {"beta": 0.001}}},
        published_rate=3e-6,
        recipe=recipe(group=16, prompts=32, updates=16, tokens=32_768),
    ),
    "v3_2_math": Preset(
        title="DeepSeek-V3.2, mathematics",
        summary=(
            "GRPO with a KL estimate that has no bias under stale samples, and bad completions skipped once the "
            "policy has moved away from them. Choose it for many updates per step or stale samples. The report sets "
            "the KL weight by domain, near 0 for mathematics."
        ),
        formula="GRPO + 0.001·w·k3, rows with A < 0 and mean log(μ/π) > 0.5 skipped",
        source="DeepSeek-AI 2025, DeepSeek-V3.2 (arXiv 2512.02556), eq. 9",
        confidence="medium",
        deviations=(
            "Numbers are from articles about the report; δ = 0.5 is TRL's suggestion.",
            "Advantages are divided by the group's spread; the report, by accounts of it, does without: `dr_grpo`.",
            "Routing and sampling masks are not kept.",
        ),
        slots={
            "loss": {
                "kl": {"beta": 0.001, "estimator": "unbiased_k3"},
                "off_policy_mask": {"type": "sequence", "delta": 0.5},
            },
        },
        published_rate=1e-6,
        recipe=recipe(group=16, updates=1, tokens=65_536),
    ),
    "trl_default": Preset(
        title="TRL's defaults",
        summary=(
            "What TRL 1.16.0 does when nothing is set: GRPO's advantages, DAPO's mean over tokens, no KL, and "
            "completions whose sampler disagreed with the trainer skipped. Choose it to compare with a run there."
        ),
        formula="grpo advantages; loss = Σ x / Σ L; completions with Π π_old/μ > 3 skipped",
        source="TRL 1.16.0, GRPOConfig",
        deviations=("TRL corrects for its vLLM sampler only; here always.",),
        slots={
            "loss": {
                "aggregation": TOKEN_MEAN,
                "mismatch": {"type": "importance", "mode": "sequence_mask", "ratio_max": 3.0},
            },
        },
        published_rate=1e-6,
        recipe=recipe(group=8, updates=1, tokens=512),
    ),
    "verl_default": Preset(
        title="verl's defaults",
        summary=(
            "What verl does when nothing is set: a dual clip of 3, which bounds bad completions with large ratios, "
            "and a mean over all tokens. Choose it to compare with a run there."
        ),
        formula="grpo with ε = 1e-6; dual clip 3; loss = Σ x / Σ L",
        source="verl, `core_algos.compute_policy_loss_vanilla`",
        slots={
            "advantage": {"type": "grpo", "eps": 1e-6},
            "loss": {"surrogate": clip(dual_clip=3.0), "aggregation": TOKEN_MEAN},
        },
    ),
    "unsloth_lora": Preset(
        title="Unsloth's LoRA setting",
        summary=(
            "GRPO at the size of one consumer card: small groups, one update per step, a small KL penalty and a "
            "learning rate for adapters. Choose it as a start on a single GPU."
        ),
        formula="GRPO + 0.001·k3",
        source="Articles on Unsloth's GRPO notebooks",
        confidence="low",
        deviations=(
            "The base model is not quantised to 4 bits.",
            "Ranges are given; these are their low ends.",
        ),
        slots={"loss": {"kl": {"beta": 0.001}}},
        published_rate=5e-6,
        published_rate_trains="an adapter",
        recipe=recipe(group=8, updates=1),
    ),
    "intellect2": Preset(
        title="INTELLECT-2",
        summary=(
            "GRPO for samples that are several steps old: bad completions are bounded at ratio 4 too, which stops "
            "the large negative steps that stale samples cause, with a small KL penalty and a mean over all tokens. "
            "Choose it when sampling runs ahead of training."
        ),
        formula="-min(min(w, 4)·A, clip(w, 1 ± 0.2)·A) + 0.001·k3",
        source="Prime Intellect 2025, INTELLECT-2 (arXiv 2505.07291)",
        slots={
            "loss": {
                "surrogate": clip(delta=4.0),
                "aggregation": TOKEN_MEAN,
                "kl": {"beta": 0.001},
            },
        },
        published_rate=3e-7,
        recipe=recipe(group=16),
    ),
    "scale_rl": Preset(
        title="ScaleRL",
        summary=(
            "The setting that scaled best in a large study: CISPO with cap 5, advantages in units of the batch's "
            "spread, a mean over tokens and no KL. Choose it for long runs with much compute."
        ),
        formula="CISPO cap 5; A_i = (R_i - mean_g R) / std_batch",
        source="Khatri et al. 2025, The Art of Scaling RL Compute (arXiv 2510.13786)",
        deviations=("The head is computed in the model's own precision.",),
        slots={
            "advantage": {"type": "grpo_batch_std"},
            "loss": {"surrogate": {"type": "cispo"}, "aggregation": TOKEN_MEAN},
        },
        recipe=recipe(group=16),
    ),
}
