"""Cases of the comparison with TRL, the models they are made of, and what share of the matrix peak is."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import trainer_vs_trl
from common import matrix, random_model, trainers
from common.matrix import peak, update_flops
from common.measure import visible_devices
from common.random_model import HALF_B, ONE_AND_A_HALF_B, Shape
from common.trainers import Run, RunFailed, check_conditions, fastest
from torch.utils.flop_counter import FlopCounterMode
from trainer_vs_trl import CASES, chosen, matrix_share, settings
from transformers import AutoModelForCausalLM, AutoTokenizer

from reinforge.spec import JobSpec

TINY = Shape(hidden=64, layers=2, heads=2, keys=1, inside=96, head=32, vocabulary=64)


@pytest.mark.parametrize("name", CASES)
def test_a_cases_job_is_valid_and_has_its_sizes(name: str, tmp_path: Path) -> None:
    case = replace(CASES[name], shape=replace(TINY, half=CASES[name].shape.half, vocabulary=8192))
    spec = JobSpec.model_validate(settings(case, tmp_path, 3)).resolved()
    assert spec.rollout.max_completion_tokens == case.completion_tokens
    assert (spec.rollout.prompts_per_step, spec.rollout.completions_per_prompt) == (case.prompts_per_step, 8)


def test_the_device_chooses_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen("all", "cpu") == ["a", "b", "c"]
    assert chosen("b", "cpu") == ["b"]
    with pytest.raises(ValueError, match=r"0\.5b is one of --device cuda"):
        chosen("0.5b", "cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert chosen("all", "cuda") == ["0.5b", "1.5b"]
    with pytest.raises(ValueError, match="a is one of --device cpu"):
        chosen("a", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="no CUDA device"):
        chosen("0.5b", "cuda")


@pytest.mark.parametrize(("shape", "published"), [(HALF_B, 494_032_768), (ONE_AND_A_HALF_B, 1_543_714_304)])
def test_the_shapes_are_those_of_the_published_models(shape: Shape, published: int) -> None:
    biases = shape.layers * shape.head * (shape.heads + 2 * shape.keys)
    norms = shape.layers * 2 * shape.head
    with torch.device("meta"):
        assert random_model.architecture(shape).num_parameters() == published - biases + norms


def test_a_model_has_its_shape_knows_its_words_and_never_ends_a_completion(tmp_path: Path) -> None:
    for half, dtype in ((True, torch.bfloat16), (False, torch.float32)):
        folder = tmp_path / str(half)
        parameters = random_model.make(folder, replace(TINY, half=half))
        model = AutoModelForCausalLM.from_pretrained(folder)
        assert model.dtype == dtype
        assert model.num_parameters() == parameters
        assert model.generation_config.eos_token_id == TINY.vocabulary
        assert AutoTokenizer.from_pretrained(folder)("w1 w2 w3")["input_ids"] == [1, 2, 3]


def test_the_flops_are_those_that_a_pass_has(tmp_path: Path) -> None:
    """Counted by torch in a model whose attention multiplies all pairs, also those that are masked."""
    random_model.make(tmp_path, TINY)
    model = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager").requires_grad_(False)
    prompt, completion = 11, 7
    tokens = prompt + completion
    embeddings = torch.randn(1, tokens, TINY.hidden, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        model(inputs_embeds=embeddings, logits_to_keep=completion).logits.sum().backward()
    pair = 3 * 4 * TINY.heads * TINY.head * TINY.layers
    masked = pair * (tokens**2 - tokens * (tokens + 1) / 2)
    assert counter.get_total_flops() == update_flops(TINY, prompt, completion, 1) + masked


def test_a_groups_prompt_counts_once() -> None:
    """All that the completions share is the pass over the prompt."""
    one, two, four = (update_flops(TINY, 100, 10, group) for group in (1, 2, 4))
    prompt = update_flops(TINY, 100, 0, 1)
    assert two == prompt + 2 * (one - prompt)
    assert four == prompt + 4 * (one - prompt)


def test_the_share_is_of_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert matrix_share(CASES["a"], [1.0]) == {}
    case = CASES["b"]
    flops = 4 * update_flops(case.shape, 512, 128, 8)
    # A device that would need 5 s for what took 20.
    monkeypatch.setattr(trainer_vs_trl, "peak", lambda device, threads: flops / 5)
    assert matrix_share(case, [10.0, 30.0, 20.0])["matrix_share"] == pytest.approx(0.25)


def test_the_peak_is_what_products_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "SIDES", {"cpu": 512})
    monkeypatch.setattr(matrix, "SECONDS", 0.05)
    threads = torch.get_num_threads()
    try:
        flops = peak("cpu", 1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)
    assert 1e9 < flops < 1e12  # a core's, in any year of this project


def test_a_run_under_other_conditions_is_none() -> None:
    check_conditions({"device": "cpu", "gradient_checkpointing": False}, "cpu")
    check_conditions({"device": "NVIDIA H200", "gradient_checkpointing": False}, "cuda")
    with pytest.raises(RunFailed, match="ran on cpu, not on cuda"):
        check_conditions({"device": "cpu", "gradient_checkpointing": False}, "cuda")
    with pytest.raises(RunFailed, match="too little memory"):
        check_conditions({"device": "NVIDIA T4", "gradient_checkpointing": True}, "cuda")


@pytest.mark.parametrize(
    ("device", "there", "devices"), [("cpu", "0,1", ""), ("cuda", "3,1", "3"), ("cuda", None, "0")]
)
def test_both_sides_see_one_gpu_at_most(
    device: str, there: str | None, devices: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if there is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", there)
    assert visible_devices(device) == devices


def test_peers_without_memory_or_time_are_not_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: dict[tuple[int, int], Run | BaseException] = {
        (1, 1): RunFailed("torch.OutOfMemoryError: CUDA out of memory."),
        (1, 2): subprocess.TimeoutExpired("trl", 1.0),
        (1, 4): Run([1.0], 3.0, 1.0, [0.0]),
        (1, 8): Run([1.0], 2.0, 1.0, [0.0]),
    }

    def trl(job: dict[str, Any], device: str, choice: tuple[int, int], seconds: float) -> Run:
        outcome = outcomes[choice]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(trainers, "trl", trl)
    job: dict[str, Any] = {}
    assert fastest(job, "cuda", list(outcomes)) == (1, 4)
    with pytest.raises(RunFailed, match="neither memory nor time"):
        fastest(job, "cuda", [(1, 1), (1, 2)])
    outcomes[1, 1] = RunFailed("KeyError: 'prompt'")
    with pytest.raises(RunFailed, match="KeyError"):
        fastest(job, "cuda", list(outcomes))
