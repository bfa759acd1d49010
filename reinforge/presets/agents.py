"""Presets for rollouts with tools or turns; single-turn jobs refuse them."""

from reinforge.presets.base import TOKEN_MEAN, Preset, clip, recipe

AGENTS: dict[str, Preset] = {
    "gagpo": Preset(
        title="GAGPO",
        summary=(
            "Credits the turns of an agent: states that several completions of a prompt pass through are valued by "
            "what followed, and an action is credited with how much it improved on its state. Choose it for "
            "environments in which states recur. Groups without a recurring state are compared as in GRPO."
        ),
        formula="δ_k = r_k + γV(s_{k+1}) - V(s_k), A_k = δ_k + γλA_{k+1}, standardised over the group's turns",
        source="Zhu et al. 2026, Generalized Advantage Grouped Policy Optimization (arXiv 2605.13217)",
        confidence="medium",
        deviations=("γ 0.95 and λ 0.9, states compared inside a group, and β 0.001 are ours.",),
        needs=("an environment with turns",),
        slots={
            "advantage": {"type": "gagpo"},
            "loss": {"ratio_level": "action", "kl": {"beta": 0.001}},
        },
    ),
    "ih_grpo": Preset(
        title="IH-GRPO",
        summary=(
            "Credits the decision to call a tool and the choice of text separately, so that the outcome of "
            "one does not change the credit of the other. Choose it when tool use dies out or takes over."
        ),
        formula="loss = PG + λ·mean((stop(1 - p) - n_t)·logZ·stop(ℓ_t)), p = π(call)",
        source="Wang et al. 2026, Implicit Hierarchical GRPO (arXiv 2605.18500), authors' repository",
        deviations=(
            "The paper's token runs all code written so far; here it is the token that opens a call.",
        ),
        needs=("an environment with tools",),
        slots={
            "loss": {
                "surrogate": clip(dual_clip=3.0),
                "aggregation": TOKEN_MEAN,
                "aux": {"type": "hierarchy"},
            },
        },
        recipe=recipe(prompts=16, tokens=8000),
    ),
    "axpo": Preset(
        title="AXPO",
        summary=(
            "Where every tool call of a prompt went wrong, the least confident calls are sampled again from "
            "just after their opening. The decision to call is credited if any new call succeeds, a call by "
            "how it compares with the new ones. Choose it when tool use fades because early calls fail."
        ),
        formula="prefix: grpo with R replaced by 1[any branch right]; branches: grpo among themselves",
        source="Kang et al. 2026, Agent Explorative Policy Optimization (arXiv 2605.28774), two independent accounts",
        confidence="medium",
        deviations=("The coefficient of the branches' sum is our reading of eq. 5.",),
        needs=("an environment with tools",),
        slots={
            "selection": {"type": "axpo"},
            "loss": {"surrogate": clip(0.2, 0.4), "kl": {"beta": 0.001}},
        },
    ),
}
