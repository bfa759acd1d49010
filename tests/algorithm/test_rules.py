"""Each rule between slots: a specification that breaks it, the field that is named and what to change."""

from typing import Any

import pytest
from pydantic import ValidationError

from reinforge.spec import JobSpec

KL = {"beta": 0.04}
GFPO = {"type": "gfpo", "keep": 4}


def job(algorithm: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {
        "model": "starter-arith",
        "data": {"dataset": "rows.jsonl"},
        "rewards": [{"source": "def grade(): ...", "name": "correct"}],
        "algorithm": algorithm,
        **parts,
    }


BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    # B.4.7 rule 1: a value per completion is averaged over completions.
    "sequence ratio, token_mean": (
        {"loss": {"ratio_level": "sequence", "aggregation": {"type": "token_mean"}}},
        "loss.aggregation.type",
        "use `seq_mean`",
    ),
    "trajectory ratio, constant": (
        {"loss": {"ratio_level": "trajectory", "aggregation": {"type": "constant"}}},
        "loss.aggregation.type",
        "use `seq_mean`",
    ),
    "arithmetic ratio, token_mean": (
        {"loss": {"ratio_level": "arithmetic", "aggregation": {"type": "token_mean"}}},
        "loss.aggregation.type",
        "use `seq_mean`",
    ),
    "the way out is named": (
        {"loss": {"ratio_level": "sequence", "aggregation": {"type": "constant"}}},
        "loss.aggregation.type",
        "or force it with `force_aggregation: true`",
    ),
    "force where nothing is to be forced": (
        {"loss": {"aggregation": {"type": "token_mean"}, "force_aggregation": True}},
        "loss.force_aggregation",
        "`token_mean` fits ratio_level `token` and surrogate `ppo_clip` as it is. Leave it out",
    ),
    "force with a mean over completions": (
        {"loss": {"ratio_level": "sequence", "force_aggregation": True}},
        "loss.force_aggregation",
        "Leave it out",
    ),
    "lambda, forced": (
        {"loss": {"ratio_level": "sequence", "aggregation": {"type": "lambda"}, "force_aggregation": True}},
        "loss.aggregation.type",
        "use `seq_mean`",
    ),
    # Rule 2: advantages per token need a ratio per token.
    "process, sequence ratio": (
        {"advantage": {"type": "process"}, "loss": {"ratio_level": "sequence"}},
        "loss.ratio_level",
        "use `token` or `gspo_token`",
    ),
    "gtpo, trajectory ratio": (
        {"advantage": {"type": "gtpo"}, "loss": {"ratio_level": "trajectory"}},
        "loss.ratio_level",
        "use `token` or `gspo_token`",
    ),
    "reinforce_pp, arithmetic ratio": (
        {"advantage": {"type": "reinforce_pp"}, "loss": {"ratio_level": "arithmetic"}},
        "loss.ratio_level",
        "use `token` or `gspo_token`",
    ),
    "gtpo, gmpo": (
        {"advantage": {"type": "gtpo"}, "loss": {"surrogate": {"type": "gmpo"}}},
        "loss.surrogate.type",
        "use `ppo_clip`",
    ),
    # Rule 3: identity exactly if shaping compares.
    "mo_grpo without identity": (
        {"shaping": {"type": "mo_grpo"}},
        "advantage.type",
        "set advantage to `identity`",
    ),
    "gdpo without identity": (
        {"shaping": {"type": "gdpo"}, "advantage": {"type": "dr_grpo"}},
        "advantage.type",
        "set advantage to `identity`",
    ),
    "identity alone": (
        {"advantage": {"type": "identity"}},
        "advantage.type",
        "use `grpo`, or shaping `mo_grpo` or `gdpo`",
    ),
    # Rule 4: one place for the distance from the base model.
    "KL twice": (
        {"shaping": {"type": "weighted_sum", "kl": KL}, "loss": {"kl": KL}},
        "loss.kl.beta",
        "set either `shaping.kl.beta` or `loss.kl.beta` to 0",
    ),
    # Rule 5: what is compared has to be what is kept.
    "mo_grpo, gfpo": (
        {"shaping": {"type": "mo_grpo"}, "advantage": {"type": "identity"}, "selection": GFPO},
        "selection.type",
        "use shaping `weighted_sum`, or selection `keep_all`",
    ),
    # Rule 6: a value that is ignored is an error.
    "cispo with a clip": (
        {"loss": {"surrogate": {"type": "cispo", "eps_low": 0.1}}},
        "loss.surrogate.cispo.eps_low",
        "Extra inputs are not permitted",
    ),
    "sapo with a clip": (
        {"loss": {"surrogate": {"type": "sapo", "eps_high": 0.1}}},
        "loss.surrogate.sapo.eps_high",
        "Extra inputs are not permitted",
    ),
    "drpo with a clip": (
        {"loss": {"surrogate": {"type": "drpo", "eps_low": 0.1}}},
        "loss.surrogate.drpo.eps_low",
        "Extra inputs are not permitted",
    ),
    "mo_grpo with KL": (
        {"shaping": {"type": "mo_grpo", "kl": KL}, "advantage": {"type": "identity"}},
        "shaping.mo_grpo.kl",
        "Extra inputs are not permitted",
    ),
    "a term of weight 0": (
        {"shaping": {"type": "weighted_sum", "repetition": {"n": 3}}},
        "shaping.weighted_sum.repetition",
        "set `weight`, or leave it out",
    ),
    "KL per token, no KL": (
        {"shaping": {"type": "weighted_sum", "kl": {"level": "token"}}},
        "shaping.kl.level",
        "set `beta`, or leave it out",
    ),
    "KL per token, one reward per completion": (
        {"shaping": {"type": "weighted_sum", "kl": {"beta": 0.1, "level": "token"}}},
        "shaping.kl.level",
        "use level `sequence`, or advantage `reinforce_pp`",
    ),
    "adaptive KL in the reward, no KL": (
        {"shaping": {"type": "weighted_sum", "kl": {"adaptive": {}}}},
        "shaping.kl.beta",
        "set `beta` above 0",
    ),
    "estimator without KL": (
        {"loss": {"kl": {"estimator": "k2"}}},
        "loss.kl.estimator",
        "set `beta`, or leave it out",
    ),
    "terms nobody reads": (
        {
            "shaping": {"type": "weighted_sum", "repetition": {"weight": 1}},
            "advantage": {"type": "process"},
        },
        "shaping.repetition.weight",
        "leave it out, or use advantage `grpo`",
    ),
    "denominator of rows not left out": (
        {"loss": {"aggregation": {"type": "token_mean", "denominator": "all"}}},
        "loss.aggregation.denominator",
        "use `kept`, or selection `gfpo`",
    ),
    "punishment beyond the longest completion": (
        {"shaping": {"type": "weighted_sum", "soft_overlong": {"weight": 1, "limit": 1000}}},
        "shaping.soft_overlong.limit",
        "set `limit` to rollout.max_completion_tokens",
    ),
    "punishment before the first token": (
        {"shaping": {"type": "weighted_sum", "soft_overlong": {"weight": 1, "cache": 1000}}},
        "shaping.soft_overlong.cache",
        "set `cache` to at most the limit, 256",
    ),
    # Rule 7: λ weighs completions, so the objective has to have one value per token.
    "lambda, one value per completion": (
        {"loss": {"surrogate": {"type": "gmpo"}, "aggregation": {"type": "lambda"}}},
        "loss.aggregation.type",
        "use `seq_mean`",
    ),
    # Parts that need turns or tools.
    "gagpo, one turn": ({"advantage": {"type": "gagpo"}}, "advantage.type", "an environment with turns"),
    "axpo, one turn": ({"selection": {"type": "axpo"}}, "selection.type", "an environment with tools"),
    "action ratio, one turn": ({"loss": {"ratio_level": "action"}}, "loss.ratio_level", "use `token`"),
    "hierarchy, one turn": (
        {"loss": {"aux": {"type": "hierarchy"}}},
        "loss.aux.type",
        "an environment with tools",
    ),
    # A critic and what reads it come together.
    "gae without a critic": ({"advantage": {"type": "gae"}}, "critic.type", "set critic to `value_head`"),
    "a critic that nothing reads": (
        {"critic": {"type": "value_head"}},
        "critic.type",
        "leave it out, or use advantage `gae`",
    ),
    "gae, one value per completion": (
        {"preset": "ppo", "loss": {"ratio_level": "sequence", "aggregation": {"type": "seq_mean"}}},
        "loss.ratio_level",
        "use `token` or `gspo_token`",
    ),
    # Selections that could not select.
    "a reward that is not there": (
        {"selection": {"type": "dynamic_sampling", "by": "right"}},
        "selection.by",
        "name one of correct",
    ),
    "a reward that is not there, before gfpo": (
        {"selection": GFPO | {"first": {"type": "dynamic_sampling", "by": "right"}}},
        "selection.first.by",
        "name one of correct",
    ),
    "shares above 1": (
        {"selection": {"type": "guided_correction", "cue_share": 0.9}},
        "selection.answer_share",
        "lower one of them",
    ),
}


def faults(spec: dict[str, Any]) -> list[tuple[str, str]]:
    """(field, message) of everything wrong, as the API reports them."""
    with pytest.raises(ValidationError) as caught:
        JobSpec.model_validate(spec)
    return [
        ((error.get("ctx") or {}).get("param") or ".".join(map(str, error["loc"])), error["msg"])
        for error in caught.value.errors()
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_names_the_field_and_what_to_change(name: str) -> None:
    algorithm, param, remedy = BROKEN[name]
    ((field, message),) = faults(job(algorithm))
    assert field == f"algorithm.{param}"
    assert remedy in message


def test_a_selection_has_to_leave_something_out() -> None:
    ((field, message),) = faults(job({"selection": {"type": "gfpo", "keep": 8}}))
    assert field == "rollout.completions_per_prompt"
    assert "sample more, or keep fewer" in message


ALLOWED: dict[str, dict[str, Any]] = {
    "gspo": {"loss": {"ratio_level": "sequence"}},
    "gspo over tokens, on purpose": {
        "loss": {"ratio_level": "sequence", "aggregation": {"type": "token_mean"}, "force_aggregation": True}
    },
    "gmpo over a constant length, on purpose": {
        "loss": {
            "surrogate": {"type": "gmpo"},
            "aggregation": {"type": "constant"},
            "force_aggregation": True,
        }
    },
    "KL in the reward that follows the distance": {
        "shaping": {"type": "weighted_sum", "kl": {"beta": 0.05, "adaptive": {"target": 0.02}}}
    },
    "luspo": {"loss": {"ratio_level": "sequence", "aggregation": {"type": "seq_sum_mean"}}},
    "gspo_token with credit per token": {
        "advantage": {"type": "gtpo"},
        "loss": {"ratio_level": "gspo_token"},
    },
    "identity after gdpo": {"shaping": {"type": "gdpo"}, "advantage": {"type": "identity"}},
    "KL on tokens for reinforce_pp": {
        "shaping": {"type": "weighted_sum", "kl": {"beta": 0.01, "level": "token"}},
        "advantage": {"type": "reinforce_pp"},
    },
    "PPO as in RLHF": {
        "preset": "ppo",
        "shaping": {"type": "weighted_sum", "kl": {"beta": 0.05, "level": "token"}},
        "critic": {"learning_rate": 1e-4, "clip_range": None},
    },
    "gfpo over all tokens": {
        "selection": GFPO | {"first": {"type": "dynamic_sampling", "by": "correct"}},
        "loss": {"aggregation": {"type": "token_mean", "denominator": "all"}},
    },
    "every term": {
        "shaping": {
            "type": "pow3r",
            "soft_overlong": {"weight": 1},
            "repetition": {"weight": 0.5},
            "cosine_length": {"weight": 1},
            "weights": {"clear": 2},
            "categories": {"clear": "style"},
        }
    },
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_goes_together_is_accepted_and_leaves_nothing_open(name: str) -> None:
    resolved = JobSpec.model_validate(job(ALLOWED[name])).resolved()
    assert JobSpec.model_validate(resolved.model_dump()).resolved() == resolved
    shaping = resolved.model_dump()["algorithm"]["shaping"]
    terms = [shaping.get(name, {}) for name in ("soft_overlong", "cosine_length")]
    assert all(term["limit"] is not None for term in terms if term.get("weight"))


ONE = {"completions_per_prompt": 1}


@pytest.mark.parametrize(
    ("algorithm", "remedy"),
    [
        ({}, "advantage `grpo` compares the completions of a prompt, and 1 is sampled: sample at least 2"),
        ({"preset": "rloo"}, "use `gae` or `reinforce_pp`"),
        ({"preset": "ppo", "selection": {"type": "dynamic_sampling"}}, "use `keep_all`"),
        ({"preset": "ppo", "loss": {"aux": {"type": "dpo_pair"}}}, "use `none`"),
        ({"preset": "ppo", "loss": {"aggregation": {"type": "lambda"}}}, "use `token_mean`"),
        ({"preset": "ppo", "selection": GFPO}, "sample more, or keep fewer"),
    ],
)
def test_what_compares_completions_refuses_one_alone(algorithm: dict[str, Any], remedy: str) -> None:
    ((field, message),) = faults(job(algorithm, rollout=ONE))
    assert field == "rollout.completions_per_prompt"
    assert remedy in message


@pytest.mark.parametrize("preset", ["ppo", "reinforce_pp"])
def test_what_compares_with_something_else_takes_one_alone(preset: str) -> None:
    assert JobSpec.model_validate(job({"preset": preset}, rollout=ONE)).rollout.completions_per_prompt == 1


@pytest.mark.parametrize(("critic_slot", "rate"), [({}, 3e-4), ({"learning_rate": 1e-3}, 1e-3)])
def test_the_critics_learning_rate_is_the_policys_by_default(
    critic_slot: dict[str, Any], rate: float
) -> None:
    spec = job({"preset": "ppo", "critic": critic_slot}, optimizer={"learning_rate": 3e-4})
    critic = JobSpec.model_validate(spec).resolved().model_dump()["algorithm"]["critic"]
    assert critic == {"type": "value_head", "base": "shared", "learning_rate": rate, "clip_range": 0.2}


def test_lengths_of_terms_follow_the_longest_completion() -> None:
    shaping = {"type": "weighted_sum", "soft_overlong": {"weight": 1}, "cosine_length": {"weight": 2}}
    spec = JobSpec.model_validate(
        job({"shaping": shaping}, rollout={"max_completion_tokens": 100})
    ).resolved()
    shaping_slot = spec.model_dump()["algorithm"]["shaping"]
    assert shaping_slot["soft_overlong"] == {"weight": 1, "limit": 100, "cache": 20}
    assert shaping_slot["cosine_length"]["limit"] == 100


def test_an_explicit_limit_stays_and_the_rest_follows_it() -> None:
    shaping = {"type": "weighted_sum", "soft_overlong": {"weight": 1, "limit": 90}}
    spec = JobSpec.model_validate(
        job({"shaping": shaping}, rollout={"max_completion_tokens": 100})
    ).resolved()
    assert spec.model_dump()["algorithm"]["shaping"]["soft_overlong"] == {
        "weight": 1,
        "limit": 90,
        "cache": 18,
    }
