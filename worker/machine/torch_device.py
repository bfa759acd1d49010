"""The device this process computes on: the first visible GPU, else the CPU."""

import torch

from worker.machine import settings
from worker.machine.gpus import cannot_open, driver_version, gpu_present


class GpuUnavailable(Exception):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def compute_device() -> torch.device:
    """Device to compute on, never the CPU in place of a broken GPU. Raises GpuUnavailable."""
    demanded = settings.requested_device()
    if demanded not in ("auto", "cpu", "cuda"):
        raise GpuUnavailable(
            f"{settings.DEVICE} is {demanded!r}, an unknown device.",
            "Set it to auto, cpu or cuda, or leave it unset.",
        )
    if demanded == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        if (share := settings.gpu_share()) is not None:
            torch.cuda.set_per_process_memory_fraction(share)
        return torch.device("cuda")
    if gpu_present():
        raise GpuUnavailable(*cannot_open(torch.__version__, torch.version.cuda, driver_version(), _reason()))
    if demanded == "cuda":
        raise GpuUnavailable(
            f"{settings.DEVICE} is cuda, but this process sees no NVIDIA device.",
            "Give this machine or container a GPU, or unset it.",
        )
    return torch.device("cpu")


def _reason() -> str:
    try:
        torch.empty(0, device="cuda")
    except (RuntimeError, AssertionError) as error:
        return str(error).strip().partition("\n")[0][:300]
    return "torch finds no device."


def report() -> dict[str, str | bool | None]:
    facts: dict[str, str | bool | None] = {
        "torch": torch.__version__,
        "gpu": None,
        "problem": None,
        "remedy": None,
    }
    facts["cpu_demanded"] = settings.requested_device() == "cpu"
    try:
        device = compute_device()
    except GpuUnavailable as error:
        return facts | {"problem": error.message, "remedy": error.hint}
    return facts | {"gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None}
