"""`optimizer.learning_rate: auto`: the rule, and the resolved specification."""

import json
from pathlib import Path
from typing import Any

import pytest

from reinforge.algorithm.live_settings import with_setting
from reinforge.base_models.config import hidden_size
from reinforge.base_models.learning_rate import auto_initial_learning_rate, auto_learning_rate, explained
from reinforge.errors import InvalidInput
from reinforge.offline import jobfile, train
from reinforge.spec import JobSpec, Optimizer


def spec(**optimizer: Any) -> JobSpec:
    rewards = [{"type": "python", "name": "r", "source": "def grade(sample, item): return 1"}]
    raw: dict[str, Any] = {"model": "m", "data": {"dataset": "d"}, "rewards": rewards}
    return JobSpec.model_validate(raw | ({"optimizer": optimizer} if optimizer else {}))


@pytest.mark.parametrize(
    ("hidden", "initial", "rate"),
    [
        (64, 1.25e-3, 1.25e-3),
        (128, 3.75e-3, 1.25e-3),
        (256, 1.87e-3, 6.25e-4),
        (257, 6.23e-4, 6.23e-4),
        (512, 3.13e-4, 3.13e-4),
        (768, 1e-4, 1e-4),
        (2560, 6.25e-5, 6.25e-5),
        (8192, 2e-5, 2e-5),
    ],
)
def test_the_rate_falls_with_the_width_and_stays_within_bounds_where_it_was_not_measured(
    hidden: int, initial: float, rate: float
) -> None:
    assert (auto_initial_learning_rate(hidden), auto_learning_rate(hidden)) == (initial, rate)


@pytest.mark.parametrize(
    ("hidden", "initial", "rate"),
    [(128, 9.39e-4, 3.13e-4), (512, 7.81e-5, 7.81e-5), (1536, 2.6e-5, 2.6e-5), (4096, 2e-5, 2e-5)],
)
def test_several_updates_per_step_share_the_rate(hidden: int, initial: float, rate: float) -> None:
    assert (auto_initial_learning_rate(hidden, 4), auto_learning_rate(hidden, 4)) == (initial, rate)
    raw = spec().model_dump() | {"algorithm": {"preset": "grpo", "updates_per_step": 4}}
    optimizer = JobSpec.model_validate(raw).resolved(hidden_size=hidden).optimizer
    assert (optimizer.initial_learning_rate, optimizer.learning_rate) == (initial, rate)
    assert explained(hidden, 4).reason.startswith(f"0.16 ÷ hidden size {hidden:,} ÷ 4 updates per step")
    assert explained(hidden, 4).measured == (hidden == 128)


def test_the_reason_says_whether_the_rule_was_measured_at_this_size() -> None:
    assert explained(128).model_dump() == {
        "value": 1.25e-3, "initial": 3.75e-3, "hidden_size": 128, "measured": True,
        "reason": "0.16 ÷ hidden size 128; the first steps use more, from 0.00375 down.",
    }  # fmt: skip
    small, between, large = explained(64), explained(2560), explained(1536)
    assert small.measured
    assert small.reason == "0.16 ÷ 128, because hidden size 64 is below 128."
    assert not between.measured
    assert between.reason == ("0.16 ÷ hidden size 2,560; not measured at this size.")
    assert (
        large.reason == "0.16 ÷ hidden size 1,536, kept within 2e-05 and 0.0001; not measured at this size."
    )


@pytest.mark.parametrize("optimizer", [{}, {"learning_rate": "auto"}])
def test_auto_and_nothing_are_the_same_and_resolve_to_a_number(optimizer: dict[str, Any]) -> None:
    assert spec(**optimizer) == spec()
    assert spec(**optimizer).optimizer.learning_rate == "auto"
    resolved = spec(**optimizer).resolved(hidden_size=128)
    assert resolved.optimizer.learning_rate == resolved.optimizer.rate == 1.25e-3
    assert resolved.resolved(hidden_size=256) == resolved, "a number stays, whatever the model"


def test_a_number_is_taken_as_it_is() -> None:
    assert spec(learning_rate=1e-5).resolved(hidden_size=128).optimizer.learning_rate == 1e-5
    assert spec(learning_rate="1e-5").optimizer.learning_rate == 1e-5  # YAML reads it as text


def test_the_first_steps_use_more_of_auto_and_of_no_other_rate() -> None:
    resolved = spec().resolved(hidden_size=128)
    assert resolved.optimizer.initial_learning_rate == 3.75e-3
    assert spec(learning_rate=1e-5).resolved(hidden_size=128).optimizer.initial_learning_rate is None
    optimizer = spec(initial_learning_rate=2e-3).resolved(hidden_size=128).optimizer
    assert (optimizer.initial_learning_rate, optimizer.learning_rate) == (2e-3, 1.25e-3)
    changed = with_setting(resolved, "optimizer.learning_rate", 1e-4).optimizer
    assert (changed.initial_learning_rate, changed.learning_rate) == (None, 1e-4), "a new rate holds at once"


def test_without_a_hidden_size_nothing_can_train_on_it() -> None:
    open_ = spec().resolved()
    assert open_.optimizer.learning_rate == "auto"
    with pytest.raises(ValueError, match="resolve the specification with a hidden size"):
        _ = open_.optimizer.rate


def test_a_critic_follows_the_number() -> None:
    raw = spec().model_dump(mode="json", exclude_unset=True) | {"algorithm": {"preset": "ppo"}}
    ppo = JobSpec.model_validate(raw)
    assert ppo.resolved(hidden_size=128).algorithm.critic.model_dump()["learning_rate"] == 1.25e-3
    assert ppo.resolved().algorithm.critic.model_dump()["learning_rate"] is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("fast", "optimizer.learning_rate: Input should be 'auto' or a number"),
        (None, "optimizer.learning_rate: Input should be 'auto' or a number"),
        (0, "optimizer.learning_rate: Input should be greater than 0"),
        (2, "optimizer.learning_rate: Input should be less than or equal to 1"),
    ],
)
def test_anything_else_is_one_clear_error(value: Any, message: str) -> None:
    raw = spec().model_dump(mode="json", exclude_unset=True) | {"optimizer": {"learning_rate": value}}
    with pytest.raises(InvalidInput) as refused:
        jobfile.validate(raw)
    assert (refused.value.message, refused.value.param) == (message, "optimizer.learning_rate")
    assert len(refused.value.errors) == 1


def test_the_schema_offers_both() -> None:
    field = Optimizer.model_json_schema()["properties"]["learning_rate"]
    assert field["default"] == "auto"
    kinds = sorted(field["anyOf"], key=lambda kind: str(kind["type"]))
    assert kinds == [
        {"exclusiveMinimum": 0, "maximum": 1, "type": "number"},
        {"const": "auto", "type": "string"},
    ]


@pytest.mark.parametrize(
    ("config", "size"),
    [
        ({"hidden_size": 128}, 128),
        ({"n_embd": 768}, 768),
        ({"d_model": 512}, 512),
        ({"vision_config": {"hidden_size": 1152}, "text_config": {"hidden_size": 2560}}, 2560),
        ({"hidden_size": "wide"}, None),
        ({"hidden_size": 0}, None),
        ({}, None),
    ],
)
def test_the_hidden_size_is_that_of_the_text_part(config: dict[str, Any], size: int | None) -> None:
    assert hidden_size(config) == size


def test_training_offline_takes_it_from_the_folder(tmp_path: Path) -> None:
    model, data = tmp_path / "model", tmp_path / "rows.jsonl"
    model.mkdir()
    data.write_text('{"prompt": "a"}\n')
    raw = spec().model_dump(mode="json", exclude_unset=True)
    job = JobSpec.model_validate(raw | {"model": str(model), "data": {"dataset": str(data)}})
    (model / "config.json").write_text(json.dumps({"hidden_size": 256}))
    manifest = train.prepare(job, tmp_path / "first", tmp_path / "sock")
    assert manifest.spec["optimizer"]["learning_rate"] == 6.25e-4
    (model / "config.json").write_text("{}")
    with pytest.raises(InvalidInput) as refused:
        train.prepare(job, tmp_path / "second", tmp_path / "sock")
    assert (refused.value.code, refused.value.param) == ("hidden_size_unknown", "optimizer.learning_rate")
    assert not (tmp_path / "second").exists()
