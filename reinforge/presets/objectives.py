"""Presets with different losses."""

from reinforge.presets.base import TOKEN_MEAN, Preset, clip, recipe

OBJECTIVES: dict[str, Preset] = {
    "dapo": Preset(
        title="DAPO",
        summary=(
            "GRPO for long answers: a higher upper clip keeps the policy exploring, all tokens count the same, "
            "answers close to the token limit lose reward, and prompts whose completions all get the same reward are "
            "replaced by others. Choose it for reasoning with long completions and a reward of right or wrong. "
            "Replacing prompts costs sampling, and the clip acts only with several updates per step."
        ),
        formula="loss = 1/Σ L_i Σ_i Σ_t -min(w·A, clip(w, 0.8, 1.28)·A), groups with 0 < right < G, R + overlong",
        source="Yu et al. 2025 (arXiv 2503.14476), eq. 8, 11 and 13",
        deviations=(
            "Normalised over the optimizer batch, as the implementations do; the paper prints each group.",
            "A group is kept when its combined reward varies; name the reward for correctness in `selection.by` to "
            "have the paper's rule beside the length punishment.",
        ),
        slots={
            "shaping": {"type": "weighted_sum", "soft_overlong": {"weight": 1.0}},
            "selection": {"type": "dynamic_sampling"},
            "loss": {"surrogate": clip(0.2, 0.28), "aggregation": TOKEN_MEAN},
        },
        published_rate=1e-6,
        recipe=recipe(group=16, prompts=512, updates=16, warmup=20, tokens=20480),
    ),
    "gspo": Preset(
        title="GSPO",
        summary=(
            "Compares new and old policy over whole completions, by the geometric mean of the token ratios, and "
            "clips whole completions within very tight bounds. Choose it for mixtures of experts and long "
            "completions, where token ratios are noisy. Far more tokens are clipped than in GRPO: that is meant. "
            "It acts only with several updates per step."
        ),
        formula="s_i = exp(1/L_i Σ_t log w_{i,t}); loss = 1/n Σ_i -min(s_i·A_i, clip(s_i, 1 - 3e-4, 1 + 4e-4)·A_i)",
        source="Zheng et al. 2025 (arXiv 2507.18071), eq. 5 and 7",
        slots={
            "loss": {"ratio_level": "sequence", "surrogate": clip(3e-4, 4e-4)},
        },
        recipe=recipe(group=16, updates=4),
    ),
    "gspo_token": Preset(
        title="GSPO-token",
        summary=(
            "GSPO whose gradient is each token's own, so that advantages may differ inside a completion. With one "
            "advantage per completion it is GSPO, in value and gradient. Choose it to combine GSPO's steadiness with "
            "step rewards or entropy shaping."
        ),
        formula="s_{i,t} = stop(s_i)·π_t / stop(π_t)",
        source="Zheng et al. 2025 (arXiv 2507.18071), eq. 13",
        slots={
            "loss": {"ratio_level": "gspo_token", "surrogate": clip(3e-4, 4e-4)},
        },
        recipe=recipe(group=16, updates=4),
    ),
    "luspo": Preset(
        title="LUSPO",
        summary=(
            "GSPO with each completion's loss multiplied by its length, which undoes GSPO's preference for short "
            "completions. Choose it when answers shrink under GSPO and quality with them."
        ),
        formula="loss = 1/n Σ_i L_i·(-min(s_i·A_i, clip(s_i)·A_i))",
        source="Liu et al. 2026, LUSPO (arXiv 2602.05261); TRL 1.16.0, loss type `luspo`",
        confidence="medium",
        deviations=("Read in TRL's code, not in the paper; clip bounds are GSPO's.",),
        slots={
            "loss": {
                "ratio_level": "sequence",
                "surrogate": clip(3e-4, 4e-4),
                "aggregation": {"type": "seq_sum_mean"},
            },
        },
        recipe=recipe(group=16, updates=4),
    ),
    "cispo": Preset(
        title="CISPO",
        summary=(
            "Caps the weight of a token instead of cutting its gradient: rare tokens that turn a solution around "
            "keep teaching after the policy has moved. Choose it for long runs with several updates per step. There "
            "is no lower bound, so watch the distance from the old policy."
        ),
        formula="loss = 1/Σ L_i Σ_i Σ_t -stop(min(w, 5))·A·log π",
        source="MiniMax-M1 (arXiv 2506.13585), eq. 4; cap of ScaleRL (arXiv 2510.13786); TRL loss type `cispo`",
        slots={"loss": {"surrogate": {"type": "cispo"}, "aggregation": TOKEN_MEAN}},
    ),
    "sapo": Preset(
        title="SAPO",
        summary=(
            "A soft gate in place of the clip: a token's gradient fades evenly as its ratio leaves 1, sooner for bad "
            "completions than for good ones. Choose it when clipping makes training jump. At ratio 1 it is the plain "
            "policy gradient."
        ),
        formula="ℓ = -A·sigmoid(τ(w - 1))·4/τ, τ = 1.0 for A > 0, 1.05 otherwise",
        source="Gao et al. 2025 (arXiv 2511.20347); TRL loss type `sapo`",
        slots={"loss": {"surrogate": {"type": "sapo"}}},
    ),
    "gmpo": Preset(
        title="GMPO",
        summary=(
            "Maximises the geometric mean of the token ratios, each clipped in log space, so that single tokens "
            "with extreme ratios count little. Choose it when ratios have outliers and GSPO's bounds are too tight."
        ),
        formula="loss = 1/n Σ_i -A_i·exp(1/L_i Σ_t clip(log w, ± 0.4))",
        source="Zhao et al. 2025 (arXiv 2507.20673); verl",
        slots={"loss": {"surrogate": {"type": "gmpo"}}},
    ),
    "vespo": Preset(
        title="VESPO",
        summary=(
            "Weighs each completion by a smooth function of its whole ratio that fades on both sides of 1, without "
            "gradient through the weight. Choose it for stale samples and many updates per step."
        ),
        formula="ℓ = -φ(W)·A·log π, φ(W) = e^λ W^k e^{-λW}, (k, λ) = (2, 3) for A ≥ 0, (3, 2) otherwise",
        source="Shen et al. 2026, VESPO (arXiv 2602.10693); TRL 1.16.0, loss type `vespo`",
        confidence="medium",
        deviations=("Read in TRL's code, not in the paper.",),
        slots={"loss": {"surrogate": {"type": "vespo"}, "aggregation": TOKEN_MEAN}},
    ),
    "tic_grpo": Preset(
        title="TIC-GRPO",
        summary=(
            "Compares new and old policy by the ratio of whole completions, bounds it from above only, and "
            "standardises reward per token. Chosen for its theory: its gradient is taken at the current policy. Bad "
            "completions are not bounded at all: add a KL penalty. Length decides between equal rewards."
        ),
        formula="W_i = Π_t w_{i,t}; loss = 1/n Σ_i -min(W_i·A_i, min(W_i, 1.28)·A_i), A from R_i / L_i",
        source="Pang et al. 2025, TIC-GRPO (arXiv 2508.02833)",
        confidence="medium",
        deviations=(
            "Put together from abstract and reviews; the cap and the average over completions are ours.",
            "The log of the ratio is bounded by ± 20.",
        ),
        learning=(
            "Reward per token favours short answers. On the demo's additions, where working a sum out takes twice as "
            "many tokens, the policy stops working and has to get better at answering at once, which takes longer."
        ),
        slots={
            "advantage": {"type": "length_corrected"},
            "loss": {"ratio_level": "trajectory", "surrogate": {"type": "upper_only"}},
        },
    ),
    "drpo": Preset(
        title="DRPO (divergence regularised)",
        summary=(
            "A quadratic pull towards the policy that sampled in place of a clip, stronger where the sampler was "
            "sure. Nothing is cut off, and no correction for the sampler is needed. Choose it when clip fractions "
            "are high. With the published delta of 12.5 the pull changes gradients by 8 % at most; a smaller one "
            "makes it felt."
        ),
        formula="ℓ = -A·r + |A|·μ·(r - 1)² / (2δ), r = π/μ",
        source="Yao et al. 2026, Rethinking the Divergence Regularization in LLM RL (arXiv 2606.09821); authors' UniRL",
        slots={
            "advantage": {"type": "dr_grpo"},
            "loss": {"surrogate": {"type": "drpo"}, "aggregation": {"type": "constant"}},
        },
        recipe=recipe(group=8, prompts=64, updates=1, tokens=8192),
    ),
    "dppo": Preset(
        title="DPPO",
        summary=(
            "Leaves out tokens on which policy and sampler already differ too much in probability, instead of in "
            "ratio: rare tokens, whose ratios are always large, are no longer cut for nothing. Choose it when most "
            "clipped tokens are rare ones."
        ),
        formula="ℓ = -A·stop(min(r, 20))·keep·log π, keep = 0 where |π - μ| > 0.15 and A pushes further",
        source="Qi et al. 2026, Rethinking the Trust Region in LLM RL (arXiv 2602.04879); TRL 1.0.0",
        slots={"loss": {"surrogate": {"type": "dppo"}, "aggregation": TOKEN_MEAN}},
    ),
    "lambda_grpo": Preset(
        title="λ-GRPO (learnable length preference)",
        summary=(
            "Weighs completions by their length relative to their group, with an exponent that is trained beside "
            "the policy: 0 is the token mean, above it long completions count more. Choose it to let the data say "
            "whether length helps. The exponent drifts towards the lengths of good completions; watch it."
        ),
        formula="f_i = G·softmax_i((1 + z_i/9)^λ), z_i the standardised length; loss = 1/Σ L Σ_i f_i Σ_t ℓ",
        source="Wang et al. 2025, λ-GRPO (arXiv 2510.06870)",
        confidence="medium",
        deviations=(
            "The paper was withdrawn from review; start and rate of λ are those of a third-party recipe.",
            "λ stays within ± 4.",
        ),
        slots={"loss": {"aggregation": {"type": "lambda"}}},
    ),
}
