"""Section `machine`: what this machine is and what it gives at most; every share of other sections is of these."""

import platform
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from common.gpu.rows import NO_GPU, Row, Setting, figure, holds, of_gpu, waiting
from common.matrix import peak
from worker.machine.vllm_python import vllm_missing, vllm_version

PACKAGES = ("torch", "transformers", "peft", "numpy")
CARD = ("gpu", "driver", "torch's CUDA", "gpu/memory")
REPEATS = 5


def run(setting: Setting) -> Iterator[Row]:
    yield holds("python", True, platform.python_version())
    for package in PACKAGES:
        yield holds(package, True, version(package))
    yield _triton()
    vllm = vllm_version()
    yield holds("vLLM", True, vllm) if vllm else waiting("vLLM", vllm_missing())
    if setting.device == "cuda":
        yield from _card()
    else:
        yield from (waiting(name, NO_GPU) for name in CARD)
    yield _compiler()
    yield of_gpu(figure("peak/matrix", peak(setting.device) / 1e12, "TFLOP/s"), setting)
    yield from _copies(setting)


def _triton() -> Row:
    try:
        return holds("triton", True, version("triton"))
    except PackageNotFoundError:
        return waiting("triton", "not installed: it comes with torch for CUDA")


def _card() -> Iterator[Row]:
    properties = torch.cuda.get_device_properties(0)
    yield holds("gpu", True, properties.name)
    yield holds("driver", True, _driver())
    yield holds("torch's CUDA", True, str(torch.version.cuda))
    yield figure("gpu/memory", properties.total_memory / 2**30, "GiB")


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        return f"unknown: {error}"


def _compiler() -> Row:
    """Triton compiles C when vLLM's adapters first run."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    header = Path(sysconfig.get_path("include"), "Python.h").is_file()
    missing = [*([] if compiler else ["a C compiler"]), *([] if header else ["Python.h"])]
    if missing:
        return waiting("compiler for Triton", f"missing: {', '.join(missing)}")
    return holds("compiler for Triton", True, f"{compiler} and Python.h")


def _copies(setting: Setting) -> Iterator[Row]:
    """Bytes read and written per second, the best of a few copies."""
    size = 2**22 if setting.tiny else 2**31
    source = torch.empty(size, dtype=torch.uint8, device=setting.device)
    target = torch.empty_like(source)
    yield of_gpu(figure("copy/device", 2 * size / _best(setting, target, source) / 1e9, "GB/s"), setting)
    for name, pinned in (("pinned", True), ("pageable", False)):
        host = torch.empty(size // 4, dtype=torch.uint8, pin_memory=pinned and setting.device == "cuda")
        rate = len(host) / _best(setting, target[: len(host)], host) / 1e9
        yield of_gpu(figure(f"copy/from {name} memory", rate, "GB/s"), setting)


def _best(setting: Setting, target: torch.Tensor, source: torch.Tensor) -> float:
    seconds = []
    for _ in range(REPEATS):
        setting.wait()
        began = time.perf_counter()
        target.copy_(source)
        setting.wait()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
