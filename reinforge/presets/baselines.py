"""Presets that differ in the baseline subtracted from rewards."""

from reinforge.presets.base import TOKEN_MEAN, Preset, recipe

BASELINES: dict[str, Preset] = {
    "grpo": Preset(
        title="GRPO",
        summary=(
            "Samples several completions of each prompt and compares every reward with the mean of its group, in "
            "units of the group's spread. Each completion counts the same, however long it is. Choose it first: it "
            "is the best known of its kind and steady at almost any scale of reward. Two things to know: prompts "
            "that are nearly always right or nearly always wrong weigh as much as the others, and among wrong "
            "completions a long one is punished less per token, so that lengths can grow without need."
        ),
        formula="A_i = (R_i - mean_g R) / (std_g R + ε); loss = 1/n Σ_i 1/L_i Σ_t -min(w·A, clip(w, 1 ± ε)·A)",
        source="Shao et al. 2024, DeepSeekMath (arXiv 2402.03300), eq. 3, without the KL term (β = 0)",
        deviations=("Sample standard deviation with ε = 1e-4, as in TRL; the paper does not say which.",),
    ),
    "grpo_process": Preset(
        title="GRPO with process supervision",
        summary=(
            "Rewards the steps of a completion instead of its end: all step rewards of a group are standardised "
            "together, and a token is credited with the steps that end at or after it, so that a wrong step inside a "
            "right answer is blamed. Choose it when a reward can judge steps reliably; a reward that labels nearly "
            "every step the same teaches nothing."
        ),
        formula="A_{i,t} = Σ over steps ending at or after t of (r - mean_g r) / std_g r, over the steps of the group",
        source="Shao et al. 2024, DeepSeekMath (arXiv 2402.03300), section 4.1.3",
        deviations=("ε = 1e-4 is added to the standard deviation.",),
        needs=("a reward that returns `steps`, or `turns` in a job with tools",),
        slots={"advantage": {"type": "process"}},
    ),
    "dr_grpo": Preset(
        title="Dr. GRPO",
        summary=(
            "GRPO without its two divisions: rewards are compared with their group's mean but not divided by its "
            "spread, and losses are summed over tokens and divided by a constant instead of each completion's own "
            "length. This takes away the pull towards long wrong answers and towards prompts that are very easy or "
            "very hard. Choose it when completions grow longer without getting better, or when rewards are shaped "
            "in several parts whose sizes mean something. Gradients follow the size of the rewards: keep them "
            "around 0 to 1."
        ),
        formula="A_i = R_i - mean_g R; loss = 1/(n·L_const) Σ_i Σ_t -min(w·A, clip(w, 1 ± ε)·A)",
        source="Liu et al. 2025, Understanding R1-Zero-Like Training (arXiv 2503.20783), section 3",
        slots={
            "advantage": {"type": "dr_grpo"},
            "loss": {"aggregation": {"type": "constant"}},
        },
        published_rate=1e-6,
        recipe=recipe(group=8, prompts=16, updates=1, tokens=3000),
    ),
    "grpo_2": Preset(
        title="2-GRPO",
        summary=(
            "GRPO with two completions of each prompt, and so more prompts for the same sampling: every pair with "
            "one right and one wrong answer pushes the two apart, exactly as DPO does at zero margin. Choose it when "
            "sampling is the bottleneck and prompts are plenty. Pairs that agree teach nothing, so it needs prompts "
            "of middling difficulty."
        ),
        formula="A = ± 1/√2 for a pair with unequal rewards, 0 otherwise; gradient ∥ DPO's at zero margin",
        source="Wu et al. 2025, It Takes Two: Your GRPO Is Secretly DPO (arXiv 2510.00977)",
        deviations=("The algebra was derived again; the paper was read in summaries only.",),
        job={"rollout": {"completions_per_prompt": 2}},
        recipe=recipe(group=2, prompts=64),
    ),
    "rloo": Preset(
        title="RLOO",
        summary=(
            "Compares each completion with the mean of the others of its group, treats a completion as one action, "
            "and takes the distance from the base model off the reward. The simplest estimator without bias. Choose "
            "it for few completions per prompt, or as a plain baseline. Its ratio multiplies over all tokens, so that "
            "long completions are clipped as soon as the policy moves."
        ),
        formula="A_i = R_i - mean of the others' R, R less β Σ_t log(π_old/π_ref); ratio W_i = Π_t w_{i,t}",
        source="Ahmadian et al. 2024 (arXiv 2402.14740); numbers of TRL's RLOOTrainer",
        deviations=("The paper has β 0.03 and plain REINFORCE; TRL, and this, β 0.05 and a clip.",),
        slots={
            "shaping": {"type": "weighted_sum", "kl": {"beta": 0.05}},
            "advantage": {"type": "rloo"},
            "loss": {"ratio_level": "trajectory"},
        },
        published_rate=1e-6,
        recipe=recipe(group=2, updates=2, prompts=512),
    ),
    "reinforce": Preset(
        title="REINFORCE",
        summary=(
            "The plain policy gradient: push up what did better than the others of its group, in proportion, with no "
            "ratio and no clip. Choose it to understand, or with one update per step, where the clip of the others "
            "never acts. With several updates per step nothing holds the policy back."
        ),
        formula="loss = 1/n Σ_i Σ_t -A_i·log π, A_i = R_i - mean of the others' R",
        source="Williams 1992; leave-one-out baseline of Kool et al. 2019",
        slots={
            "advantage": {"type": "rloo"},
            "loss": {"surrogate": {"type": "reinforce"}, "aggregation": {"type": "seq_sum_mean"}},
        },
    ),
    "reinforce_pp": Preset(
        title="REINFORCE++",
        summary=(
            "Compares with the whole batch instead of a group: token rewards, the distance from the base model "
            "among them, are summed up from the end and whitened over all tokens of the batch. Choose it when the "
            "groups are small or the prompts alike in difficulty. Long completions weigh more in the statistics, and "
            "easy prompts are rewarded for being easy."
        ),
        formula="A_{i,t} = whiten_batch(Σ_{s≥t} r_{i,s}), r = 1[last]·R_i - β log(π_old/π_ref)",
        source="Hu et al. 2025 (arXiv 2501.03262); verl `compute_reinforce_plus_plus_outcome_advantage`, OpenRLHF",
        deviations=("β 0.001 is verl's default; the paper's examples differ.",),
        slots={
            "shaping": {"type": "weighted_sum", "kl": {"beta": 0.001, "level": "token"}},
            "advantage": {"type": "reinforce_pp"},
            "loss": {"aggregation": TOKEN_MEAN},
        },
    ),
    "reinforce_pp_baseline": Preset(
        title="REINFORCE++ with baseline",
        summary=(
            "Subtracts the group's mean and then scales by the spread over the whole batch, so that prompts whose "
            "completions hardly differ count less than in GRPO. Choose it when GRPO is unsteady because some groups "
            "have tiny spreads. The whitening shifts all tokens, groups without any difference included."
        ),
        formula="A_{i,t} = whiten_batch(R_i - mean_g R)",
        source="Hu et al. 2025 (arXiv 2501.03262); verl `compute_reinforce_plus_plus_baseline_outcome_advantage`",
        deviations=("KL, β 0.001, is taken off the completion's reward, not off each token's.",),
        slots={
            "shaping": {"type": "weighted_sum", "kl": {"beta": 0.001}},
            "advantage": {"type": "reinforce_pp_baseline"},
            "loss": {"aggregation": TOKEN_MEAN},
        },
    ),
    "ppo": Preset(
        title="PPO",
        summary=(
            "Trains a second model, the critic, to foresee the reward from every token on, and credits a token with "
            "how much better things went than foreseen: the method that GRPO and its kin were made to do without. "
            "Choose it to compare with, or with one completion per prompt. The critic is an adapter on the same "
            "frozen base model with a head of one number: trained weights, their optimizer state and passes double, "
            "and the base model does not. `critic.base: own` gives it a base model of its own, as PPO without "
            "adapters has it: twice the memory."
        ),
        formula="A_t = Σ_l (γλ)^l δ_{t+l}, δ_t = r_t + γ·V(s_{t+1}) - V(s_t); clip(w, 1 ± 0.2); critic to A_t + V(s_t)",
        source="Schulman et al. 2017, PPO (arXiv 1707.06347); 2015, GAE (arXiv 1506.02438), eq. 16; verl's example",
        deviations=(
            "λ = 1 as in verl: the return less the value. PPO's paper and TRL have 0.95, which learns the demo's "
            "additions half as fast: until the critic is good, a reward at the end fades on its way back.",
            "The critic has an optimizer of its own, as in verl, in place of a coefficient in one loss.",
            "Its head starts at 0, its adapter is drawn like the policy's; its loss is a mean over tokens.",
            "verl's critic, with all weights, has ten times the policy's learning rate; here it has the same.",
            "One pass over a step's completions; several epochs would repeat it.",
            "No distance from the reference in the reward: for RLHF's form set `shaping.kl` with level `token`.",
        ),
        slots={
            "advantage": {"type": "gae"},
            "loss": {"aggregation": TOKEN_MEAN},
            "critic": {"type": "value_head"},
        },
        published_rate=1e-6,
        recipe={
            **recipe(group=1, prompts=1024, tokens=512),
            "algorithm": {
                "updates_per_step": 4,
                "critic": {"type": "value_head", "clip_range": 0.5},
            },
        },
    ),
    "opo": Preset(
        title="OPO",
        summary=(
            "Plain on-policy training against the baseline of least variance, which weighs the completions of a "
            "group by their length. Choose it with one update per step when completions of a prompt differ much in "
            "length. There is no division by the spread and no clip: keep rewards around 0 to 1."
        ),
        formula="A_i = R_i - Σ_j L_j R_j / Σ_j L_j",
        source="Hao et al. 2025 (arXiv 2505.23585); verl `compute_opo_outcome_advantage`",
        confidence="medium",
        deviations=("The average over tokens is ours; the advantage is verl's.",),
        slots={
            "advantage": {"type": "opo"},
            "loss": {"surrogate": {"type": "reinforce"}, "aggregation": TOKEN_MEAN},
        },
    ),
    "passk_max": Preset(
        title="Pass@k, best minus second",
        summary=(
            "Rewards a group for its best completion alone: that one gets how far it is ahead of the second best, "
            "the others nothing. Trains for being right once in many tries, and so for exploring. Choose it when the "
            "product samples several answers and picks one. With rewards of 0 and 1 only groups with a single right "
            "answer teach."
        ),
        formula="A_best = (R_best - R_second) / (std_g + ε), 0 for the others",
        source="Tang et al. 2025 (arXiv 2503.19595); verl `compute_grpo_passk_outcome_advantage`",
        learning=(
            "With rewards of 0 and 1, a group in which two completions are right teaches nothing. On the demo's "
            "additions half are right from the start, so that few groups teach and accuracy hardly rises."
        ),
        slots={"advantage": {"type": "passk_max"}},
    ),
    "lite_ppo": Preset(
        title="Lite PPO",
        summary=(
            "Two changes to GRPO and nothing else: the group's mean with the batch's spread, and a mean over all "
            "tokens. Choose it as a strong plain setting for base models. Rewards on one common scale are assumed."
        ),
        formula="A_i = (R_i - mean_g R) / (std_batch R + ε); loss = Σ x / Σ L",
        source="Liu et al. 2025, Tricks or Traps (arXiv 2508.08221)",
        slots={"advantage": {"type": "grpo_batch_std"}, "loss": {"aggregation": TOKEN_MEAN}},
        recipe=recipe(group=8, updates=1),
    ),
}
