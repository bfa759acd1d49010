"""Looks for the C compiler and Python headers with which Triton builds an extension when vLLM starts on a
GPU.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_ASK = "import sysconfig; print(sysconfig.get_paths()['include'])"


def missing_compiler(python: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    missing = []
    path = environment.get("PATH")
    compiler = environment.get("CC")
    if compiler and shutil.which(compiler.split()[0], path=path) is None:
        missing.append(f"the C compiler {compiler} that CC names")
    elif not compiler and not (shutil.which("gcc", path=path) or shutil.which("clang", path=path)):
        missing.append("a C compiler (gcc or clang)")
    headers = _headers(python)
    if headers is not None and not (headers / "Python.h").is_file():
        missing.append(f"Python's header files ({headers / 'Python.h'})")
    if not missing:
        return None
    return f"vLLM compiles its kernels when it starts on a GPU and needs {' and '.join(missing)} for that."


HINT = "Install them on the worker, on Debian and Ubuntu with `apt-get install gcc python3-dev`."


def _headers(python: Path) -> Path | None:
    try:
        done = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


def main() -> int:
    problem = missing_compiler(Path(sys.argv[1]))
    if problem is not None:
        sys.stderr.write(f"{problem} {HINT}\n")
    return int(problem is not None)


if __name__ == "__main__":
    sys.exit(main())
