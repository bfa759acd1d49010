"""The loss in a specification and the functions that fill it are the same list, and what does not fit is refused."""

from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError

from reinforge.algorithm.aggregation import Aggregation, SeqSumMean
from reinforge.algorithm.loss import KlPenalty, Loss
from reinforge.algorithm.surrogate import Surrogate
from tests.algorithm.loss_batches import LEAVES, draw, run
from worker.algorithm.loss.aggregation import AGGREGATIONS
from worker.algorithm.loss.kl import KL_ESTIMATORS
from worker.algorithm.loss.ratios import RATIOS
from worker.algorithm.loss.surrogates import READS_SAMPLER, SURROGATES


def types_of(union: Any) -> dict[str, Any]:
    return {model.model_fields["type"].default: model for model in get_args(get_args(union)[0])}


def test_the_specification_offers_what_there_is() -> None:
    assert types_of(Surrogate).keys() == SURROGATES.keys()
    assert types_of(Aggregation).keys() == AGGREGATIONS.keys()
    assert set(get_args(Loss.model_fields["ratio_level"].annotation)) == RATIOS.keys()
    assert set(get_args(KlPenalty.model_fields["estimator"].annotation)) == KL_ESTIMATORS.keys()
    assert {kind for kind, model in types_of(Surrogate).items() if model.reads_sampler} == READS_SAMPLER


@pytest.mark.parametrize("kind", sorted(SURROGATES))
@pytest.mark.parametrize("level", sorted(RATIOS))
@pytest.mark.parametrize("average", sorted(AGGREGATIONS))
def test_whatever_the_specification_takes_runs(kind: str, level: str, average: str) -> None:
    slot: dict[str, Any] = {"ratio_level": level, "surrogate": {"type": kind}}
    slot["aggregation"] = {"type": average} | ({"length": 9} if average == "constant" else {})
    try:
        loss = Loss.model_validate(slot).model_dump()
    except ValidationError as error:
        assert error.error_count() == 1
        assert error.errors()[0]["type"] == "fields_disagree"
        return
    result = run(draw(2, 5, 4), loss)
    assert result.value.isfinite()
    assert all(result.gradients[leaf].isfinite().all() for leaf in LEAVES)


@pytest.mark.parametrize("average", ["token_mean", "constant"])
def test_a_forced_average_weighs_completions_by_their_length(average: str) -> None:
    """GSPO's objective is one value per completion: over tokens it counts as often as the completion has tokens."""
    slot: dict[str, Any] = {"ratio_level": "sequence", "force_aggregation": True}
    slot["aggregation"] = {"type": average} | ({"length": 9} if average == "constant" else {})
    batch = draw(2, 5, 4)
    result = run(batch, Loss.model_validate(slot).model_dump())
    summed = run(batch, Loss(ratio_level="sequence", aggregation=SeqSumMean()).model_dump())
    rows, tokens = int(batch.tensors["mask"].any(1).sum()), int(batch.tensors["mask"].sum())
    share = rows / tokens if average == "token_mean" else 1 / 9
    assert result.value.item() == pytest.approx(summed.value.item() * share, rel=1e-5)


def test_every_part_at_its_defaults_runs() -> None:
    loss = Loss.model_validate(
        {
            "kl": {"beta": 0.1},
            "policy_tokens": {"type": "top_entropy"},
            "entropy": {"type": "adaptive"},
            "off_policy_mask": {"type": "sequence"},
            "mismatch": {"type": "importance"},
            "aux": {"type": "dpo_pair"},
        }
    )
    assert run(draw(4, 6, 5), loss.model_dump()).value.isfinite()
    hierarchy = Loss.model_validate({"entropy": {"type": "static"}, "aux": {"type": "hierarchy"}})
    assert torch.isfinite(run(draw(4, 6, 5), hierarchy.model_dump()).value)


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "two names of a bound": (
        {"surrogate": {"type": "ppo_clip", "delta": 4.0, "dual_clip": 3.0}},
        "loss.surrogate.dual_clip",
        "set only one of them",
    ),
    "a bound below the clip": (
        {"surrogate": {"type": "ppo_clip", "eps_high": 0.4, "delta": 1.3}},
        "loss.surrogate.delta",
        "set it above 1 \\+ eps_high = 1.4",
    ),
    "ratio level that is ignored": (
        {"ratio_level": "sequence", "surrogate": {"type": "vespo"}},
        "loss.ratio_level",
        "leave it at `token`",
    ),
    "REINFORCE without weights has no ratio": (
        {"ratio_level": "gspo_token", "surrogate": {"type": "reinforce"}},
        "loss.ratio_level",
        "leave it at `token`",
    ),
    "corrected twice": (
        {"surrogate": {"type": "dppo"}, "mismatch": {"type": "importance"}},
        "loss.mismatch.type",
        "set mismatch to `none`",
    ),
    "vespo with one weight per completion": (
        {"surrogate": {"type": "vespo"}, "mismatch": {"type": "importance"}},
        "loss.mismatch.mode",
        "use mode token_truncate or token_mask",
    ),
    "completions weighed by length": (
        {"ratio_level": "sequence", "aggregation": {"type": "token_mean"}},
        "loss.aggregation.type",
        "use `seq_mean`",
    ),
    "geometric mean over tokens": (
        {"surrogate": {"type": "gmpo"}, "aggregation": {"type": "constant"}},
        "loss.aggregation.type",
        "use `seq_mean`",
    ),
    "unbiased KL of sequences": (
        {"kl": {"beta": 0.1, "estimator": "unbiased_k3", "level": "sequence"}},
        "loss.kl.level",
        "use level token",
    ),
    "bonus that starts above its maximum": (
        {"entropy": {"type": "adaptive", "initial": 0.5, "maximum": 0.1}},
        "loss.entropy.initial",
        "lower `initial`",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    slot, param, remedy = REFUSED[name]
    with pytest.raises(ValidationError, match=remedy) as caught:
        Loss.model_validate(slot)
    assert caught.value.errors()[0]["ctx"]["param"] == f"algorithm.{param}"


@pytest.mark.parametrize("kind", sorted(SURROGATES))
def test_a_value_of_another_surrogate_is_refused(kind: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Loss.model_validate({"surrogate": {"type": kind, "clip_range": 0.2}})
