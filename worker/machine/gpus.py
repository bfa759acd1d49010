"""The NVIDIA devices of this machine. Standard library only."""

import csv
import subprocess
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.machine import settings
from worker.machine.settings import DEVICE

VISIBLE = settings.VISIBLE_DEVICES
ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
"""Variable that makes CUDA number devices as nvidia-smi does."""
DEVICES = Path("/dev")
DRIVER = Path("/proc/driver/nvidia")
_NONE = ("", "-1")
_DRIVERS = {13: 580, 12: 525, 11: 450}
"""Minimum driver for each major version of CUDA (CUDA Toolkit release notes)."""


def gpu_present(visible_devices: str | None = None) -> bool:
    """Whether this process may open an NVIDIA device.

    A driver is no evidence: a container without a device sees the host's driver.
    """
    names = settings.visible_devices() if visible_devices is None else visible_devices
    if settings.requested_device() == "cpu" or names in _NONE:
        return False
    return any(DEVICES.glob("nvidia[0-9]*"))


@dataclass(frozen=True, slots=True)
class Gpu:
    device: str
    """Name in CUDA_VISIBLE_DEVICES: a number, or the id of a MIG device."""
    uuid: str
    name: str = "NVIDIA GPU"
    total: int = 0
    """Memory in bytes; 0 if unknown."""
    free: int = 0
    """Free memory in bytes; 0 if unknown."""


def list_gpus(visible_devices: str | None = None) -> list[Gpu]:
    names = settings.visible_devices() if visible_devices is None else visible_devices
    if not gpu_present(names):
        return []
    return visible(_from_nvidia_smi() or _from_the_kernel(), names)


def visible(gpus: Sequence[Gpu], value: str | None) -> list[Gpu]:
    """GPUs that a value of CUDA_VISIBLE_DEVICES names, up to the first unknown one."""
    if value is None:
        return list(gpus)
    named: list[Gpu] = []
    for word in (word.strip() for word in value.split(",")):
        if word.startswith("MIG-"):
            named.append(Gpu(word, word, "NVIDIA MIG device"))
            continue
        by_id = [gpu for gpu in gpus if word.startswith("GPU-") and gpu.uuid.startswith(word)]
        match = by_id or [gpu for gpu in gpus if gpu.device == word]
        if len(match) != 1 or match[0] in named:
            break
        named += match
    return named


def parse_nvidia_smi(text: str) -> list[Gpu]:
    """Parse the output of the query in `_from_nvidia_smi`, whose sizes are in MiB."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]
    return [Gpu(row[0], row[1], row[2], _mib(row[3]), _mib(row[4])) for row in rows if len(row) == 5]


def _mib(text: str) -> int:
    return int(text) * 2**20 if text.isdigit() else 0


def _from_nvidia_smi() -> list[Gpu]:
    query = [
        "nvidia-smi",
        "--query-gpu=index,uuid,name,memory.total,memory.free",
        "--format=csv,noheader,nounits",
    ]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return parse_nvidia_smi(done.stdout) if done.returncode == 0 else []


def _from_the_kernel() -> list[Gpu]:
    described: dict[str, dict[str, str]] = {}
    for information in sorted((DRIVER / "gpus").glob("*/information")):
        lines = information.read_text(errors="replace").splitlines()
        fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        described[fields.get("Device Minor", "")] = fields
    minors = sorted(int(path.name.removeprefix("nvidia")) for path in DEVICES.glob("nvidia[0-9]*"))
    gpus = []
    for number, minor in enumerate(minors):
        fields = described.get(str(minor), {})
        uuid = fields.get("GPU UUID") or f"nvidia{minor}"
        gpus.append(Gpu(str(number), uuid, fields.get("Model") or "NVIDIA GPU"))
    return gpus


def hide_unwanted(environment: MutableMapping[str, str]) -> None:
    """Hide devices from a child with REINFORGE_DEVICE=cpu: some libraries query CUDA themselves."""
    if environment.get(DEVICE) == "cpu":
        environment[VISIBLE] = ""


def driver_version() -> str | None:
    try:
        text = (DRIVER / "version").read_text(errors="replace")
    except OSError:
        return None
    words = text.partition("\n")[0].split()
    return next((word for word in words if word.count(".") and word.replace(".", "").isdigit()), None)


def cannot_open(torch_version: str, cuda: str | None, driver: str | None, reason: str) -> tuple[str, str]:
    """Problem and remedy, in words, if torch cannot open a GPU. cuda: the version torch is built for."""
    on_purpose = f"To compute on the CPU on purpose, set {DEVICE}=cpu on the worker."
    if cuda is None:
        return (
            f"This machine has an NVIDIA GPU, but torch {torch_version} is built without CUDA.",
            f"Install a CUDA build of torch, as the one on PyPI. {on_purpose}",
        )
    driver_text = f"driver {driver}" if driver else "driver of unknown version"
    needed = _DRIVERS.get(_major(cuda))
    sentence = (
        f"This machine has an NVIDIA GPU that torch {torch_version} (CUDA {cuda}) cannot open, "
        f"{driver_text}: {reason}"
    )
    if needed is None or (driver is not None and _major(driver) >= needed):
        return sentence, f"`nvidia-smi` says whether the GPU works at all. {on_purpose}"
    return (
        sentence,
        f"CUDA {_major(cuda)} needs driver {needed} or newer: update the driver, or install a torch that is built for "
        f"an older CUDA. {on_purpose}",
    )


def _major(version: str) -> int:
    return int(version.partition(".")[0])
