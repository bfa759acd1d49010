"""Attention over packed lines: the loop, the kernel's arguments, refusals."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
import torch
import torch.nn.attention.varlen as torch_varlen
import torch.nn.functional as F
from torch import Tensor

from tests.support.architectures import write_architecture
from worker.policy.base import Sequences
from worker.policy.forward import attention
from worker.policy.forward.attention import NAME, CannotPack, loop, packed_attention, varlen, varlen_repeated
from worker.policy.forward.rows import Spans, packed
from worker.policy.load import load_base_model

CPU = torch.device("cpu")
LINE = packed(Sequences([[1, 2, 3]] * 3 + [[4]], [[5, 6, 7, 8], [9, 10], [11, 12, 13], [14, 15]], 1.0), CPU)
HEADS, KEY_HEADS, WIDTH = 4, 2, 8


def per_segment(queries: Tensor, keys: Tensor, values: Tensor, starts: Tensor, key_starts: Tensor) -> Tensor:
    """What the kernel computes: causal by the last key, (S, H, D)."""
    outputs = []
    times = queries.shape[1] // keys.shape[1]
    for i in range(len(starts) - 1):
        q = queries[starts[i] : starts[i + 1]].transpose(0, 1)
        k, v = (
            x[key_starts[i] : key_starts[i + 1]].transpose(0, 1).repeat_interleave(times, 0)
            for x in (keys, values)
        )
        mask = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril(k.shape[1] - q.shape[1])
        outputs.append(F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3).transpose(0, 1))
    return torch.cat(outputs)


def of_2_13(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
) -> Tensor:
    if query.shape[1] != key.shape[1] and not enable_gqa:
        raise ValueError("the heads differ")
    return of_2_11(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, scale=scale, window_size=window_size)


def of_2_11(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
) -> Tensor:
    assert window_size == (-1, 0) and cu_seq_q.dtype == cu_seq_k.dtype == torch.int32
    assert (max_q, max_k) == (int(cu_seq_q.diff().max()), int(cu_seq_k.diff().max()))
    return per_segment(query, key, value, cu_seq_q, cu_seq_k)


@pytest.fixture
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    attention._knows.cache_clear()
    monkeypatch.setattr(torch_varlen, "varlen_attn", request.param)
    request.addfinalizer(attention._knows.cache_clear)


def drawn(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(HEADS, WIDTH), (KEY_HEADS, WIDTH), (KEY_HEADS, WIDTH)]
    size = LINE.ids.shape[1]
    return [
        torch.randn((size, *shape), generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in shapes
    ]


@pytest.mark.parametrize("kernel", [of_2_13, of_2_11], indirect=True)
@pytest.mark.parametrize("function", [varlen, varlen_repeated])
def test_the_kernel_gets_what_the_loop_computes(
    kernel: None, function: Callable[[Tensor, Tensor, Tensor, Spans, float | None], Tensor]
) -> None:
    results = []
    for run in (loop, function):
        leaves = drawn()
        output = run(*leaves, LINE.spans, 0.3)
        behind = torch.sin(torch.arange(output.numel(), dtype=torch.float64)).view(output.shape)
        results.append([output, *torch.autograd.grad(output, leaves, behind)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kernel", [of_2_13], indirect=True)
def test_a_prompts_gradient_is_summed_in_float32(kernel: None) -> None:
    """500 completions that each give 1 in bfloat16, where 256 + 1 is 256."""
    keys = torch.ones((1, 1, 8), dtype=torch.bfloat16, requires_grad=True)
    gathered, _ = attention._gathered(keys, keys, torch.zeros(500, dtype=torch.int64))
    (gradient,) = torch.autograd.grad(gathered.sum(), keys)
    assert gradient.dtype == torch.bfloat16
    assert bool((gradient == 500).all())


def test_a_kernel_that_errs_or_is_missing_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: object) -> Tensor:
        return 0.9 * loop(*arguments)  # type: ignore[arg-type]

    def missing(*arguments: object) -> Tensor:
        raise RuntimeError("no kernel image is available")

    def too_large(*arguments: object) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    shape = (CPU, torch.float32, HEADS, KEY_HEADS, WIDTH)
    assert attention._agrees(loop, *shape)
    assert not attention._agrees(wrong, *shape)
    assert not attention._agrees(missing, *shape)
    # It says nothing of the kernel.
    with pytest.raises(torch.OutOfMemoryError):
        attention._agrees(too_large, *shape)


@pytest.mark.parametrize(
    "wish",
    [{"sliding_window": 4}, {"softcap": 30.0}, {"s_aux": torch.zeros(4)}, {"dropout": 0.1}, {"spans": None}],
)
def test_what_packed_lines_do_not_have_is_refused(wish: dict[str, object]) -> None:
    queries, keys, values = (x.transpose(0, 1)[None] for x in drawn())
    arguments: dict[str, object] = {"spans": LINE.spans, "use_cache": False, "sliding_window": None} | wish
    with pytest.raises(CannotPack):
        attention._attention(torch.nn.Identity(), queries, keys, values, None, 0.3, **arguments)  # type: ignore[arg-type]


def test_a_models_attention_is_as_before_behind_all_contexts(tmp_path: Path) -> None:
    model = load_base_model(write_architecture(tmp_path, "qwen2")).model
    before = model.config._attn_implementation
    barrier = Barrier(2)

    def inside(wait: bool) -> str:
        with packed_attention(model):
            barrier.wait(5)
            if wait:
                barrier.wait(5)
            return str(model.config._attn_implementation)

    with ThreadPoolExecutor(2) as pool:
        slow, fast = pool.submit(inside, True), pool.submit(inside, False)
        assert fast.result() == NAME == model.config._attn_implementation
        barrier.wait(5)
        assert slow.result() == NAME
    assert model.config._attn_implementation == before
    with pytest.raises(ZeroDivisionError), packed_attention(model):
        raise ZeroDivisionError
    assert model.config._attn_implementation == before
