"""Limits on the sizes that a model's files may declare; every real model is below them."""

from typing import Any

from reinforge.errors import InvalidInput

MAX_DIMENSIONS = 16
MAX_ELEMENTS = 1 << 48
MAX_TENSORS = 1_000_000
MAX_NAME = 1000
MAX_LINEAR_LAYERS = 256
"""Maximum number of distinct names of linear layers, such as q_proj; models have about ten."""
MAX_CONFIG_NUMBER = (1 << 31) - 1
_MAX_LABEL = 200

CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "n_ctx")
_SIZES = (
    *CONTEXT_KEYS,
    *("vocab_size", "num_attention_heads", "n_head", "num_heads", "head_dim", "num_key_value_heads"),
    *("num_hidden_layers", "n_layer", "num_layers", "intermediate_size", "n_inner", "ffn_dim"),
    *("hidden_size", "n_embd", "n_embed", "d_model", "model_dim"),
)


def check_config(config: dict[str, Any]) -> None:
    nested = config.get("text_config")
    for part in (config, nested if isinstance(nested, dict) else {}):
        for key in _SIZES:
            value = part.get(key)
            if isinstance(value, int) and not 0 <= value <= MAX_CONFIG_NUMBER:
                raise _refused(f"{key} is not between 0 and {MAX_CONFIG_NUMBER:,}")
        kind = part.get("model_type", "")
        if not isinstance(kind, str) or len(kind) > _MAX_LABEL:
            raise _refused(f"model_type is not a string of at most {_MAX_LABEL} characters")
    listed = config.get("architectures") or [""]
    if not isinstance(listed, list) or not isinstance(listed[0], str) or len(listed[0]) > _MAX_LABEL:
        raise _refused(f"architectures is not a list of strings of at most {_MAX_LABEL} characters")


def check_linear_layers(names: list[str]) -> None:
    if len(names) > MAX_LINEAR_LAYERS:
        raise InvalidInput(
            f"The linear layers have {len(names):,} different names; at most {MAX_LINEAR_LAYERS} are allowed.",
            code="damaged_weights",
            hint="Check the weights' names: they should look like model.layers.0.mlp.up_proj.weight.",
            param="source",
        )


def label(text: str | None) -> str | None:
    return None if text is None else text[:_MAX_LABEL]


def _refused(why: str) -> InvalidInput:
    return InvalidInput(
        f"config.json cannot be used: {why}.",
        code="damaged_model",
        hint="Copy or download it again.",
        param="source",
    )
