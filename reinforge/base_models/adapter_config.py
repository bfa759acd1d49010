"""LoRA settings in a PEFT folder's `adapter_config.json`."""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from reinforge.errors import InvalidInput
from reinforge.parsing.json_depth import is_deeper

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
MOST_CONFIG_BYTES = 65_536
MOST_RANK = 512
MOST_ALPHA = 1_000_000
MOST_TARGETS = 1000
_LONGEST_TARGET = 200
_NAME = re.compile(r"[\w.]+", re.ASCII)
_INERT = frozenset({
    "auto_mapping", "base_model_name_or_path", "eva_config", "fan_in_fan_out", "inference_mode", "init_lora_weights",
    "lora_alpha", "lora_dropout", "megatron_core", "peft_type", "peft_version", "qalora_group_size", "r", "revision",
    "runtime_config", "target_modules", "target_parameters", "task_type", "use_rslora",
})  # fmt: skip
"""Accepted settings: this module reads them, or they do not change the adapter's output."""
_INITIAL_WEIGHTS = (True, False, None, "gaussian", "eva", "orthogonal")
"""Values of `init_lora_weights` that leave the base model unchanged."""


@dataclass(frozen=True)
class LoraShape:
    rank: int
    alpha: float
    targets: list[str] | Literal["all-linear"]

    def as_spec(self) -> dict[str, Any]:
        return {"rank": self.rank, "alpha": self.alpha, "targets": self.targets}

    def as_config(self) -> dict[str, Any]:
        return {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "r": self.rank,
            "lora_alpha": self.alpha,
            "lora_dropout": 0.0,
            "target_modules": self.targets,
            "bias": "none",
            "inference_mode": True,
        }


def read_adapter_config(text: str | bytes) -> LoraShape:
    """Read LoRA settings of `adapter_config.json`. Raises InvalidInput unless they are valid, plain LoRA."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid("it is not JSON") from error
    if not isinstance(config, dict) or is_deeper(config):
        raise _invalid("it is not a JSON object, or is nested too deeply")
    if config.get("peft_type") != "LORA":
        raise _unsupported(f"its peft_type is {_short(config.get('peft_type'))}, not LORA")
    if config.get("bias", "none") not in ("none", None):
        raise _unsupported("it trains biases")
    if config.get("task_type") not in (None, "CAUSAL_LM"):
        raise _unsupported(f"its task_type is {_short(config['task_type'])}, not CAUSAL_LM")
    if config.get("init_lora_weights", True) not in _INITIAL_WEIGHTS:
        raise _unsupported(f"init_lora_weights {_short(config['init_lora_weights'])} changes the base model")
    for name in sorted(config.keys() - _INERT - {"bias"}):
        if config[name]:
            raise _unsupported(f"it sets {_short(name)}, which is not supported")
    return LoraShape(_rank(config), _alpha(config), _targets(config))


def _rank(config: dict[str, Any]) -> int:
    rank = config.get("r")
    if not isinstance(rank, int) or isinstance(rank, bool) or not 1 <= rank <= MOST_RANK:
        raise _invalid(f"r has to be a whole number from 1 to {MOST_RANK}")
    return rank


def _alpha(config: dict[str, Any]) -> float:
    alpha = config.get("lora_alpha")
    if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not 0 < alpha <= MOST_ALPHA:
        raise _invalid(f"lora_alpha has to be a number above 0, at most {MOST_ALPHA:,}")
    # With use_rslora the scale is alpha / √rank, which is alpha · √rank / rank.
    return float(alpha * math.sqrt(_rank(config)) if config.get("use_rslora") else alpha)


def _targets(config: dict[str, Any]) -> list[str] | Literal["all-linear"]:
    modules, parameters = config.get("target_modules"), config.get("target_parameters") or []
    if modules == "all-linear" and not parameters:
        return "all-linear"
    if isinstance(modules, str):
        raise _unsupported("target_modules is a pattern; name the layers in a list")
    listed = [*modules, *parameters] if isinstance(modules, list) and isinstance(parameters, list) else []
    if not 1 <= len(listed) <= MOST_TARGETS or not all(_is_name(name) for name in listed):
        raise _invalid(f"target_modules has to list 1 to {MOST_TARGETS} names of layers")
    return sorted(set(listed))


def _is_name(name: Any) -> bool:
    return (
        isinstance(name, str)
        and 0 < len(name) <= _LONGEST_TARGET
        and name.replace("_", "a").replace(".", "a").isalnum()
    )


def _short(value: Any) -> str:
    return repr(value)[:60]


def _invalid(reason: str) -> InvalidInput:
    return InvalidInput(
        f"{CONFIG} cannot be used: {reason}.",
        code="invalid_adapter_config",
        param="config",
        hint=f"Send the {CONFIG} that PEFT's `save_pretrained` wrote.",
    )


def _unsupported(reason: str) -> InvalidInput:
    return InvalidInput(
        f"The adapter cannot be used: {reason}.",
        code="unsupported_adapter",
        param="config",
        hint="A plain LoRA adapter is needed: peft_type LORA, one rank for all layers, no biases and no other modules.",
    )
