"""Memory estimates: by hand for Qwen3-0.6B, and for models with few published numbers."""

from reinforge.base_models.memory import ModelShape, estimate

QWEN3_0_6B = ModelShape(
    layers=28, hidden=1024, intermediate=3072, kv_heads=8, head_dim=128, vocabulary=151_936,
    lora_per_rank=28 * ((1024 + 2048) + 2 * (1024 + 1024) + (2048 + 1024) + 3 * (1024 + 3072)),
)  # fmt: skip


def test_by_hand() -> None:
    memory = estimate(596_049_920, QWEN3_0_6B, 40_960)
    assert memory.weights == 1_192_099_840
    assert memory.kv_per_token == 114_688  # 112 KiB, as published for this model
    assert memory.serve == 1_192_099_840 + 114_688 * 32 * 1024
    assert memory.adapter == 16 * 16 * 28 * 22_528
    inside = 2 * (8 * 1024 + 3 * 3072)
    assert memory.activations == 4096 * (28 * 1024 * 2 + inside + 8 * 151_936)
    assert memory.train == memory.weights + memory.adapter + memory.activations
    assert 6e9 < memory.train < 8e9


def test_nf4_by_hand() -> None:
    linear = 440_401_920  # of 596,049,920: all but embeddings, which are the head as well, and norms
    memory = estimate(596_049_920, QWEN3_0_6B.model_copy(update={"linear": linear}), 40_960)
    assert memory.weights_nf4 == round((596_049_920 - linear) * 2 + linear * (0.5 + 1 / 64 + 1 / 4096))
    assert memory.train is not None and memory.train_nf4 == memory.train - memory.weights + memory.weights_nf4
    without = estimate(596_049_920, QWEN3_0_6B, 40_960)
    assert (without.weights_nf4, without.train_nf4) == (None, None)


def test_missing_shapes_are_not_guessed() -> None:
    memory = estimate(1000, ModelShape(layers=2))
    assert memory.weights == 2000
    assert (memory.adapter, memory.activations, memory.kv_per_token, memory.serve, memory.train) == (
        None,
    ) * 5


def test_a_short_context_needs_a_small_cache() -> None:
    shape = ModelShape(layers=1, hidden=4, kv_heads=1, head_dim=2, vocabulary=9, lora_per_rank=6)
    memory = estimate(8, shape, 64)
    assert memory.serve == 16 + 8 * 32 * 64
