"""Kind of machine that a job ran on; machines of one kind give bit-identical results."""

import platform
from pathlib import Path
from typing import Any

import torch

from worker.machine.cpu_share import available_cores


def machine_kind() -> dict[str, Any]:
    kind: dict[str, Any] = {"processor": processor(), "cores": available_cores()}
    if torch.cuda.is_available():
        kind |= {"accelerator": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
    return kind


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
