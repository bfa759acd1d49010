"""Contents of model folders as bytes, for tests that load no model."""

import json
import struct

CONFIG = {
    "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 1, "hidden_size": 4,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2, "intermediate_size": 8, "vocab_size": 9,
    "max_position_embeddings": 64,
}  # fmt: skip


def safetensors(rows: int = 2) -> bytes:
    """One linear layer of `rows` × 4 zeros."""
    entry = {"dtype": "F32", "shape": [rows, 4], "data_offsets": [0, rows * 16]}
    header = json.dumps({"model.layers.0.self_attn.q_proj.weight": entry}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(rows * 16)


def model_files(*, template: bool = True, rows: int = 2) -> dict[str, bytes]:
    """Name → content."""
    files = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": safetensors(rows)}
    if template:
        files["tokenizer_config.json"] = json.dumps({"chat_template": "{{ messages }}"}).encode()
    return files
