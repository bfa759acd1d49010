"""A Python that a normal user can run, for tests started as root.

The interpreter of the tests often lies below a 0700 home that a dropped user cannot enter. Then it is copied,
standard library included, to a folder that everybody can traverse; what the tests need goes beside it.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_UNNEEDED = shutil.ignore_patterns(
    "site-packages", "test", "idlelib", "tkinter", "ensurepip", "__pycache__", "config-*"
)


@dataclass(frozen=True)
class OtherUser:
    """A user id with an interpreter, packages and a folder of its own."""

    uid: int
    python: Path
    packages: Path
    folder: Path

    def command(self, *arguments: str) -> list[str]:
        return [str(self.python), "-s", *arguments]

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        prefix = self.python.parents[1]
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "LD_LIBRARY_PATH": str(prefix / "lib"),  # a relocated libpython is not found otherwise
            "PYTHONHOME": str(prefix),
            "PYTHONPATH": str(self.packages),
            "PYTHONDONTWRITEBYTECODE": "1",
            **(extra or {}),
        }

    def run(self, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            user=self.uid,
            group=self.uid,
            extra_groups=[],
            cwd=self.folder,
            env=self.env(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )


@contextmanager
def other_user(packages: Sequence[str], uid: int) -> Iterator[OtherUser]:
    """Drop to `uid` with a copied interpreter, `reinforge` and the named entries of site-packages."""
    top = Path(tempfile.mkdtemp(prefix="reinforge-other-user-", dir="/var/tmp"))
    try:
        top.chmod(0o755)
        python = _copy_interpreter(top / "python")
        site = top / "packages"
        shutil.copytree(_ROOT / "reinforge", site / "reinforge", ignore=_UNNEEDED)
        installed = Path(sysconfig.get_path("purelib"))
        for name in packages:
            for source in installed.glob(name):
                _copy(source, site / source.name)
        folder = top / "home"
        folder.mkdir(mode=0o700)
        os.chown(folder, uid, uid)
        yield OtherUser(uid, python, site, folder)
    finally:
        shutil.rmtree(top)


def _copy_interpreter(target: Path) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (target / "bin").mkdir(parents=True)
    shutil.copy(Path(sys._base_executable).resolve(), target / "bin" / version)  # type: ignore[attr-defined]
    shutil.copytree(sysconfig.get_path("stdlib"), target / "lib" / version, ignore=_UNNEEDED)
    for library in Path(sysconfig.get_config_var("LIBDIR")).glob("libpython3*.so*"):
        _copy(library, target / "lib" / library.name)
    return target / "bin" / version


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=_UNNEEDED)
    else:
        shutil.copy(source, target)
