"""Fused norms, gates and rotary positions equal transformers' own, or are not used."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from tests.support.architectures import ARCHITECTURES, write_architecture
from worker.policy.forward import fused_logprobs
from worker.policy.forward.fused_layers import FEWEST_TOKENS, ROTARY, fuse
from worker.policy.forward.logprobs import _slice
from worker.policy.load import load_base_model

FUSED = {
    "qwen2": {"norms": 5, "gates": 2, "rotary": 1},
    "qwen3": {"norms": 9, "gates": 2, "rotary": 1},
    "llama": {"norms": 5, "gates": 2, "rotary": 1},
    "gemma3_text": {"norms": 0, "gates": 0, "rotary": 1},
    "phi": {"norms": 0, "gates": 0, "rotary": 1},
}
"""Gemma adds 1 to its norms' weights and gates with GELU; Phi has LayerNorm and no gates."""


def plain(function):  # type: ignore[no-untyped-def]
    """In place of a compiler: the function as it is, in an object of its own."""
    return lambda *inputs, **named: function(*inputs, **named)


@pytest.fixture(autouse=True)
def _rotary_is_put_back() -> Iterator[None]:
    yield
    for module in [m for name, m in sys.modules.items() if name.startswith("transformers.models.")]:
        function = vars(module).get(ROTARY)
        if hasattr(function, "fused"):
            vars(module)[ROTARY] = function.own


def model_of(folder: Path, name: str, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    return load_base_model(write_architecture(folder, name)).model.to(dtype)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_fused_model_returns_the_same_logits(name: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, name)
    ids = torch.arange(2 * FEWEST_TOKENS).view(2, -1) % 90 + 5
    before = model(ids, use_cache=False).logits
    counts = fuse(model, plain)
    assert counts == FUSED.get(name, counts)
    torch.testing.assert_close(model(ids, use_cache=False).logits, before, rtol=1e-4, atol=1e-5)


def test_in_bfloat16_it_differs_by_roundings(tmp_path: Path) -> None:
    model = model_of(tmp_path, "qwen3", torch.bfloat16)
    ids = torch.arange(2 * FEWEST_TOKENS).view(2, -1) % 90 + 5
    before = model(ids, use_cache=False).logits
    assert fuse(model, plain) == FUSED["qwen3"]
    after = model(ids, use_cache=False).logits
    assert (after - before).abs().max() <= 0.02 * before.abs().max()


def test_a_second_model_of_the_process_is_counted_like_the_first(tmp_path: Path) -> None:
    for number in ("one", "two"):
        assert fuse(model_of(tmp_path / number, "qwen3"), plain) == FUSED["qwen3"]


def test_a_compiler_that_fails_leaves_the_models_own_code(tmp_path: Path) -> None:
    def broken(function):  # type: ignore[no-untyped-def]
        def compile_and_fail(*_: object, **__: object) -> None:
            raise RuntimeError("no compiler is here")

        return compile_and_fail

    model = model_of(tmp_path, "llama")
    ids = torch.arange(12)[None]
    before = model(ids, use_cache=False).logits
    assert fuse(model, broken) == {"norms": 5, "gates": 0, "rotary": 0}
    torch.testing.assert_close(model(ids, use_cache=False).logits, before, rtol=1e-4, atol=1e-5)


def test_a_compiler_that_miscomputes_leaves_the_models_own_code(tmp_path: Path) -> None:
    def wrong(function):  # type: ignore[no-untyped-def]
        def doubled(*inputs: object, **named: object) -> object:
            outputs = function(*inputs, **named)
            return tuple(2 * o for o in outputs) if isinstance(outputs, tuple) else 2 * outputs

        return doubled

    assert fuse(model_of(tmp_path, "qwen2"), wrong) == {"norms": 5, "gates": 0, "rotary": 0}


def test_a_kernel_is_compiled_once_for_every_batch_and_gradient_mode(tmp_path: Path) -> None:
    """torch stops after compiling a function eight times, and then runs it slowly."""

    def counted(function):  # type: ignore[no-untyped-def]
        def backend(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
            graphs.append(graph)
            return graph

        return torch.compile(function, dynamic=True, backend=backend)

    graphs: list[object] = []
    model = model_of(tmp_path, "qwen3")
    batches = [torch.randint(5, 100, shape) for shape in ((1, 300), (4, 90), (7, 130))]
    expected = [model(ids, use_cache=False).logits for ids in batches]
    assert fuse(model, counted) == FUSED["qwen3"]
    assert len(graphs) == 6  # gates, and rotary positions of queries and keys, in both directions
    for mode in (torch.enable_grad, torch.no_grad):
        for ids, logits in zip(batches, expected, strict=True):
            with mode():
                states = model.get_input_embeddings()(ids).detach().requires_grad_(mode is torch.enable_grad)
                output = model(inputs_embeds=states, use_cache=False).logits
            torch.testing.assert_close(output, logits, rtol=1e-4, atol=1e-5)
            if output.requires_grad:
                output.square().mean().backward()
    assert len(graphs) == 6
    for ids in batches:
        with torch.inference_mode():
            model(ids, use_cache=False)
    assert len(graphs) == 9  # sampling's tensors are of another kind, and have no gradients


def test_few_tokens_use_the_models_own_code(tmp_path: Path) -> None:
    calls: list[int] = []

    def counted(function):  # type: ignore[no-untyped-def]
        def counting(*inputs: torch.Tensor) -> object:
            calls.append(len(inputs[0]))
            return function(*inputs)

        return counting

    model = model_of(tmp_path, "llama")
    fuse(model, counted)
    calls.clear()
    model(torch.arange(255)[None] % 50, use_cache=False)
    assert calls == []
    model(torch.arange(256)[None] % 50, use_cache=False)
    assert set(calls) == {256}


@pytest.mark.parametrize("slope", [True, False])
def test_fused_scores_are_those_of_the_plain_slice(slope: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 5 * torch.randn((6, 300), generator=generator, dtype=torch.float64)
    logits[2, 7] = -torch.inf
    targets = torch.tensor([0, 5, 9, 299, 100, 7])
    expected = _slice(logits.clone(), targets, (slope, False))
    function = fused_logprobs._with_slope if slope else fused_logprobs._without
    logprobs, entropies, of_logprob = function(logits, targets, torch.float64)
    torch.testing.assert_close(logprobs, expected[0], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(entropies, expected[1], rtol=1e-9, atol=1e-9)
    if slope:
        assert of_logprob is not None and expected[2][0] is not None
        torch.testing.assert_close(of_logprob, expected[2][0], rtol=1e-9, atol=1e-9)


def test_scores_are_fused_on_a_gpu_alone() -> None:
    assert fused_logprobs.fused_slice(torch.zeros(2, 5), torch.tensor([1, 2]), torch.float32, True) is None
