"""The NVIDIA devices of this machine, read from the system without torch. Standard library only."""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

DEVICE = "REINFORGE_DEVICE"
"""Environment variable: `auto` (default), `cpu` or `cuda`."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
DEVICES = Path("/dev")
DRIVER = Path("/proc/driver/nvidia")
_NONE = ("", "-1")
"""Values of CUDA_VISIBLE_DEVICES with which a process sees no device."""
_DRIVERS = {13: 580, 12: 525, 11: 450}
"""CUDA's major version → the oldest driver that runs it (CUDA Toolkit release notes, table of minor version
compatibility)."""


def gpu_present(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a process may open an NVIDIA device: one is here, and neither CUDA_VISIBLE_DEVICES nor REINFORGE_DEVICE
    hides it. A container without a device sees the host's driver all the same, so the driver does not count."""
    if environment.get(DEVICE) == "cpu" or environment.get(VISIBLE, "all") in _NONE:
        return False
    return any(DEVICES.glob("nvidia[0-9]*"))


def hide_unwanted(environment: MutableMapping[str, str]) -> None:
    """With REINFORGE_DEVICE=cpu, make libraries that ask CUDA themselves see no device either."""
    if environment.get(DEVICE) == "cpu":
        environment[VISIBLE] = ""


def driver_version() -> str | None:
    """For example `550.54.15`; None where the kernel does not say."""
    try:
        text = (DRIVER / "version").read_text(errors="replace")
    except OSError:
        return None
    words = text.partition("\n")[0].split()
    return next((word for word in words if word.count(".") and word.replace(".", "").isdigit()), None)


def cannot_open(torch_version: str, cuda: str | None, driver: str | None, reason: str) -> tuple[str, str]:
    """A sentence about a device that torch cannot open, and what to do.

    cuda: the version that torch is built for; None for a CPU build. reason: torch's own words.
    """
    on_purpose = f"To compute on the CPU on purpose, set {DEVICE}=cpu on the worker."
    if cuda is None:
        return (
            f"This machine has an NVIDIA GPU, but torch {torch_version} is built without CUDA.",
            f"Install a CUDA build of torch, as the one on PyPI. {on_purpose}",
        )
    known = f"driver {driver}" if driver else "driver of unknown version"
    needed = _DRIVERS.get(_major(cuda))
    sentence = f"This machine has an NVIDIA GPU that torch {torch_version} (CUDA {cuda}) cannot open, {known}: {reason}"
    if needed is None or (driver is not None and _major(driver) >= needed):
        return sentence, f"`nvidia-smi` says whether the GPU works at all. {on_purpose}"
    return (
        sentence,
        f"CUDA {_major(cuda)} needs driver {needed} or newer: update the driver, or install a torch that is built for "
        f"an older CUDA. {on_purpose}",
    )


def _major(version: str) -> int:
    return int(version.partition(".")[0])
