"""Settings of PEFT adapters, and offline jobs that start from one."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from reinforge.base_models.adapter_config import CONFIG, WEIGHTS, LoraShape, read_adapter_config
from reinforge.errors import InvalidInput
from reinforge.offline.start_adapter import start_archive, with_start_folder
from reinforge.spec import JobSpec

PEFT = {
    "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 4, "lora_alpha": 8, "target_modules": ["v_proj", "q_proj"],
    "bias": "none", "lora_dropout": 0.05, "megatron_core": "megatron.core", "rank_pattern": {}, "use_dora": False,
}  # fmt: skip


def test_a_plain_lora_adapter_is_read() -> None:
    assert read_adapter_config(json.dumps(PEFT)) == LoraShape(4, 8.0, ["q_proj", "v_proj"])
    rs = read_adapter_config(json.dumps(PEFT | {"use_rslora": True}))
    assert rs.alpha / rs.rank == pytest.approx(8 / 4**0.5)
    assert read_adapter_config(json.dumps(PEFT | {"target_modules": "all-linear"})).targets == "all-linear"
    written = read_adapter_config(json.dumps(PEFT)).as_config()
    assert read_adapter_config(json.dumps(written)) == LoraShape(4, 8.0, ["q_proj", "v_proj"])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"peft_type": "IA3"}, "unsupported_adapter"),
        ({"use_dora": True}, "unsupported_adapter"),
        ({"bias": "all"}, "unsupported_adapter"),
        ({"task_type": "SEQ_CLS"}, "unsupported_adapter"),
        ({"modules_to_save": ["lm_head"]}, "unsupported_adapter"),
        ({"rank_pattern": {"q_proj": 8}}, "unsupported_adapter"),
        ({"layers_to_transform": [0]}, "unsupported_adapter"),
        ({"init_lora_weights": "pissa"}, "unsupported_adapter"),
        ({"target_modules": ".*q_proj"}, "unsupported_adapter"),
        ({"of_the_future": 1}, "unsupported_adapter"),
        ({"r": 0}, "invalid_adapter_config"),
        ({"r": True}, "invalid_adapter_config"),
        ({"lora_alpha": float("nan")}, "invalid_adapter_config"),
        ({"lora_alpha": "8"}, "invalid_adapter_config"),
        ({"target_modules": []}, "invalid_adapter_config"),
        ({"target_modules": ["a b"]}, "invalid_adapter_config"),
    ],
)
def test_others_are_refused(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_adapter_config(json.dumps(PEFT | changes))
    assert (caught.value.code, caught.value.param) == (code, "config")


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 5000, "\x00"])
def test_what_is_no_configuration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_adapter_config(text)
    assert caught.value.param == "config"


def spec(**adapter: Any) -> JobSpec:
    reward = {"type": "python", "name": "one", "source": "def grade(sample, item): return 1"}
    data = {"dataset": "rows.jsonl"}
    return JobSpec.model_validate({"model": "m", "data": data, "rewards": [reward], "adapter": adapter})


def test_an_offline_job_starts_from_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "adapter"
    folder.mkdir()
    with pytest.raises(InvalidInput) as caught:
        with_start_folder(spec(start=str(folder)))
    assert (caught.value.code, caught.value.param) == ("adapter_not_found", "adapter.start")
    (folder / CONFIG).write_text(json.dumps(PEFT))
    (folder / WEIGHTS).write_bytes(b"weights")
    started = with_start_folder(spec(start=str(folder)))
    archive = start_archive(started, tmp_path)
    assert (started.adapter.rank, started.adapter.alpha, started.model) == (4, 8.0, "m")
    assert archive is not None
    with tarfile.open(archive) as tar:
        assert sorted(tar.getnames()) == [CONFIG, WEIGHTS]
    with pytest.raises(InvalidInput) as caught:
        with_start_folder(spec(start=str(folder), rank=8))
    assert (caught.value.code, caught.value.param) == ("adapter_conflict", "adapter.rank")
    assert with_start_folder(spec()) == spec()
    assert start_archive(spec(), tmp_path) is None
