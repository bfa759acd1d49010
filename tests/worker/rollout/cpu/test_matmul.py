"""Products of few rows: the same numbers with either library."""

from pathlib import Path
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F

from tests.support.architectures import write_architecture
from worker.policy.load import load_base_model
from worker.rollout.cpu import decode_step, matmul
from worker.rollout.cpu.decode_step import fast_step, supports_decode_step
from worker.rollout.cpu.matmul import LARGE, OrderedProduct, Product, fastest_product, onednn_is_faster

WIDE = 640, 512

needs_onednn = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this torch was built without oneDNN"
)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@needs_onednn
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 33, 64, 65, 100, 257])
def test_it_is_the_product_to_rounding(rows: int, biased: bool) -> None:
    x, weight, bias = random(rows, 512), random(*WIDE), random(640) if biased else None
    exact = F.linear(x.double(), weight.double(), None if bias is None else bias.double())
    product = OrderedProduct(weight, bias)(x)
    assert product.shape == (rows, 640)
    # Sums of 512 terms, each rounded: a few units in the last place of their norm.
    assert (product - exact).norm() <= 8 * torch.finfo(torch.float32).eps * exact.norm()


@needs_onednn
def test_a_rows_bits_do_not_depend_on_the_rows_beside_it() -> None:
    """So that a completion is the same whoever samples beside it, and when they leave."""
    x, product = random(100, 512), OrderedProduct(random(*WIDE), None)
    together = product(x)
    for rows in range(1, 100, 7):
        assert torch.equal(product(x[:rows]), together[:rows])
    assert torch.equal(product(x[40:41]), together[40:41])


@needs_onednn
def test_a_row_that_is_not_finite_stays_with_itself() -> None:
    x = random(9, 512)
    x[3, 5] = torch.inf
    product = OrderedProduct(random(*WIDE), None)(x)
    assert [bool(row.isfinite().all()) for row in product] == [row != 3 for row in range(9)]


def test_few_numbers_of_rows_are_computed() -> None:
    """oneDNN keeps code for each, and glibc the memory between."""
    rooms = {rows: matmul._padded_rows(rows) for rows in range(1, 513)}
    assert len(set(rooms.values())) <= 20
    assert all(rows <= room <= rows + max(7, rows / 4) for rows, room in rooms.items())


@pytest.mark.parametrize(
    ("shape", "kind"),
    [(WIDE, torch.float64), (WIDE, torch.bfloat16), ((LARGE // 512 - 1, 512), torch.float32)],
    ids=["float64", "bfloat16", "small"],
)
def test_other_weights_are_taken_as_they_are(shape: tuple[int, int], kind: torch.dtype) -> None:
    weight = random(*shape).to(kind)
    with patch.object(matmul, "onednn_is_faster", lambda: True):
        made = fastest_product(weight, None)
    assert type(made) is Product and made.weight is weight


@pytest.mark.parametrize(
    ("architecture", "maker", "faster"),
    [("x86_64", "AuthenticAMD", True), ("x86_64", "GenuineIntel", False), ("aarch64", "", False)],
)
@needs_onednn
def test_the_processors_maker_decides(
    architecture: str, maker: str, faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: architecture)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: f"processor : 0\nvendor_id : {maker}\n")
    assert onednn_is_faster.__wrapped__() is faster


@needs_onednn
@pytest.mark.parametrize("architecture", ["qwen2", "llama"])
def test_the_fast_step_computes_the_same_with_either(
    architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_base_model(write_architecture(tmp_path, architecture)).model
    monkeypatch.setattr(matmul, "LARGE", 0)
    ids, positions = torch.arange(5, 8), torch.zeros(3, dtype=torch.int64)
    logits, kinds = [], []
    for faster in (False, True):
        monkeypatch.setattr(matmul, "onednn_is_faster", lambda faster=faster: faster)
        assert supports_decode_step(model)
        step = fast_step(model)
        assert step is not None
        kinds.append(type(step._head))
        with torch.inference_mode():
            logits.append(step(ids, positions, None, decode_step.roomy_cache(model)))
    assert kinds == [Product, OrderedProduct]
    torch.testing.assert_close(logits[0], logits[1], rtol=1e-4, atol=1e-5)


def test_a_large_models_weights_are_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_base_model(write_architecture(tmp_path, "qwen3")).model
    monkeypatch.setattr(matmul, "LARGE", 0)
    monkeypatch.setattr(matmul, "onednn_is_faster", lambda: True)
    held = sum(weight.nbytes for weight in model.parameters())
    monkeypatch.setattr(decode_step, "COPIED_BYTES", held - 1)
    step = fast_step(model)
    assert step is not None and type(step._head) is Product
