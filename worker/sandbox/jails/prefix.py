"""Folder that a jail can read: the interpreter, its library, allowed packages, the jail's program."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from worker.sandbox import libraries, settings

_LAYOUT = "1"
_PROGRAM = Path(__file__).parents[1] / "jailed"
_SYSTEM_FOLDERS = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
_LEFT_OUT = {
    "test", "tests", "idle_test", "site-packages", "dist-packages", "idlelib", "tkinter", "turtledemo", "ensurepip",
    "lib2to3", "pydoc_data", "distutils", "venv",
}  # fmt: skip
_LEFT_OUT_PREFIXES = ("config-", "_tkinter", "_test", "_ctypes_test", "_xx", "xx")

_LIST_LIBRARIES = """
import importlib, json, os, sys
for entry in os.listdir(sys.argv[1]):
    name = entry.split(".")[0]
    if not name.startswith(tuple(json.loads(sys.argv[2]))):
        try: importlib.import_module(name)
        except Exception: pass
found = {line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if line.count("/")}
print(json.dumps(sorted(p for p in found if ".so" in os.path.basename(p))))
"""


class PrefixError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Prefix:
    python: Path
    libraries: Path
    site: Path
    program: Path
    readable: tuple[str, ...]


def default_root() -> Path:
    if root := settings.prefix_root():
        return root
    if os.geteuid() == 0:
        return Path("/var/lib/reinforge")
    if home := settings.home():
        return home / "prefix"
    try:
        return Path.home() / ".cache" / "reinforge"
    except RuntimeError as error:
        raise PrefixError(f"{error} Set REINFORGE_HOME to a folder of this user.") from error


def ensure_prefix(root: Path | None = None) -> Prefix:
    """Folder for the jails, created if missing. Raises :class:`PrefixError`."""
    root = root or default_root()
    try:
        make_folder(root)
        if os.geteuid() == 0:
            require_traversable(root)
        interpreter = Path(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))
        python = _ensure(
            root, f"python-{_interpreter_hash(interpreter)}", lambda to: _copy_python(interpreter, to)
        )
        site = _ensure(root, f"site-{libraries.fingerprint()}", _copy_site)
        program = _ensure(root, f"jailed-{_program_hash()}", _copy_program)
        system = json.loads((python / "libraries.json").read_text())["system"]
    except (OSError, ValueError, KeyError, shutil.Error, subprocess.SubprocessError) as error:
        raise PrefixError(f"cannot prepare the sandbox's interpreter under {root}: {error}") from error
    return Prefix(
        python=python / "bin" / interpreter_name(),
        libraries=python / "lib",
        site=site,
        program=program,
        readable=(str(python), str(site), str(program), *system),
    )


def interpreter_name() -> str:
    return f"python{sys.version_info[0]}.{sys.version_info[1]}"


def make_folder(path: Path) -> None:
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            folder.chmod(0o755)


def require_traversable(path: Path) -> None:
    for folder in (path, *path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            raise PrefixError(
                f"{folder} is closed to other users, so a sandbox that has dropped root cannot run from {path}; "
                "set REINFORGE_PREFIX to a folder whose every ancestor others may enter"
            )


def _ensure(root: Path, name: str, build: Callable[[Path], None]) -> Path:
    final = root / name
    if not _ours(final):
        with _locked(root):
            if not _ours(final):
                for leftover in root.glob(f".{name}-*"):
                    shutil.rmtree(leftover, ignore_errors=True)
                building = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=root))
                try:
                    build(building)
                    building.chmod(0o755)
                    building.rename(final)
                finally:
                    shutil.rmtree(building, ignore_errors=True)
    return final


def _ours(folder: Path) -> bool:
    try:
        owner = folder.lstat().st_uid
    except FileNotFoundError:
        return False
    if owner not in (0, os.geteuid()):
        raise PrefixError(
            f"{folder} belongs to user {owner}; remove it or set REINFORGE_PREFIX to another folder"
        )
    return True


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _interpreter_hash(interpreter: Path) -> str:
    status = interpreter.stat()
    identity = f"{_LAYOUT} {interpreter} {sys.version} {status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def _program_hash() -> str:
    digest = hashlib.sha256()
    for file in sorted(_PROGRAM.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _copy_program(to: Path) -> None:
    (to / "jailed").mkdir()
    for file in _PROGRAM.glob("*.py"):
        shutil.copyfile(file, to / "jailed" / file.name)
    _open_to_others(to)


def _copy_site(to: Path) -> None:
    libraries.copy_libraries(to)
    _open_to_others(to)


def _copy_python(interpreter: Path, to: Path) -> None:
    stdlib = Path(sysconfig.get_path("stdlib"))
    (to / "bin").mkdir()
    (to / "lib").mkdir()
    shutil.copy2(interpreter, to / "bin" / interpreter_name())
    target = to / sys.platlibdir / interpreter_name()
    shutil.copytree(stdlib, target, ignore=_left_out, symlinks=False, ignore_dangling_symlinks=True)
    extensions = target / "lib-dynload"
    system: set[str] = set()
    for library in _loaded_libraries(interpreter, extensions):
        real = os.path.realpath(library)
        if real.startswith(_SYSTEM_FOLDERS):
            system.update((str(Path(library).parent), str(Path(real).parent)))
        elif not real.startswith((str(stdlib.resolve()) + "/", str(to.resolve()) + "/")):
            shutil.copy2(real, to / "lib" / Path(library).name)
    (to / "libraries.json").write_text(json.dumps({"system": sorted(system)}))
    _open_to_others(to)


def _loaded_libraries(interpreter: Path, extensions: Path) -> list[str]:
    command = [
        str(interpreter),
        "-I",
        "-S",
        "-c",
        _LIST_LIBRARIES,
        str(extensions),
        json.dumps(_LEFT_OUT_PREFIXES),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    libraries: list[str] = json.loads(done.stdout.splitlines()[-1])
    return libraries


def _left_out(_folder: str, names: list[str]) -> set[str]:
    endings = (".a", ".o", ".opt-1.pyc", ".opt-2.pyc")
    return {n for n in names if n in _LEFT_OUT or n.startswith(_LEFT_OUT_PREFIXES) or n.endswith(endings)}


def _open_to_others(folder: Path) -> None:
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
