"""One tiny random model of each architecture that the policy is tested with."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.support.tiny_models import SPECIALS, write_tokenizer

_HEADS = 4
_SIZES: dict[str, Any] = {
    "vocab_size": len(SPECIALS) + 256,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": _HEADS,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": None,
}
_WIDTH = "width of a head"
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "qwen2": {},
    "qwen3": {"head_dim": _WIDTH},
    "qwen3_moe": {"head_dim": _WIDTH, **_EXPERTS},
    "llama": {},
    "gemma": {"head_dim": _WIDTH},
    "gemma3_text": {
        "head_dim": _WIDTH,
        "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "mistral": {"sliding_window": None},
    "phi": {},
    "olmo2": {},
    "gpt_oss": {
        "head_dim": _WIDTH,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "smollm3": {},
    "deepseek_v3": {
        "num_key_value_heads": 4,
        "q_lora_rank": 16,
        "kv_lora_rank": 16,
        "qk_nope_head_dim": _WIDTH,
        "qk_rope_head_dim": _WIDTH,
        "v_head_dim": _WIDTH,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_shared_experts": 1,
        "n_group": 2,
        "topk_group": 1,
        "topk_method": "noaux_tc",
        "first_k_dense_replace": 1,
        "moe_intermediate_size": 32,
    },
    "glm4": {"head_dim": _WIDTH},
}
"""transformers' names, and what their configurations need beside the sizes."""

_LAYER_TYPES = {"layer_types": ["sliding_attention", "full_attention"]}
EXPERTS: dict[str, dict[str, Any]] = {
    **{name: ARCHITECTURES[name] for name in ("qwen3_moe", "gpt_oss", "deepseek_v3")},
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None},
    "olmoe": {"num_experts": 4, "num_experts_per_tok": 2},
    "qwen2_moe": {**_EXPERTS, "shared_expert_intermediate_size": 32},
    "phimoe": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "granitemoe": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "llama4_text": {"num_local_experts": 4, "head_dim": _WIDTH, "intermediate_size_mlp": 64},
    "gemma4_text": {
        "enable_moe_block": True,
        "num_experts": 4,
        "top_k_experts": 2,
        "moe_intermediate_size": 32,
        "head_dim": _WIDTH,
        "global_head_dim": _WIDTH,
        "hidden_size_per_layer_input": 0,
        "num_kv_shared_layers": 0,
        **_LAYER_TYPES,
    },
}
"""Mixture-of-experts models. Tests that are not of all architectures use them for the adapters' layers only."""


def write_architecture(folder: Path, name: str, head_dim: int = 8, **changes: Any) -> Path:
    """A folder that `from_pretrained` loads: safetensors, config, tokenizer. changes: of the configuration."""
    torch.manual_seed(0)
    parts = ARCHITECTURES.get(name) or EXPERTS.get(name, {})
    own = {key: head_dim if value == _WIDTH else value for key, value in parts.items()}
    sizes = _SIZES | {"hidden_size": _HEADS * head_dim} | own | changes
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **sizes))
    with torch.no_grad():
        # Freshly initialised models are almost uniform; wider embeddings give them opinions worth comparing.
        model.get_input_embeddings().weight.mul_(8)
    model.save_pretrained(folder)
    write_tokenizer(folder, chat_template=True)
    return folder
