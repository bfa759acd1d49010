"""requirements.lock has a hash for everything that an installation takes, and `lock.py` reads it as pip does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.lock import LOCK, UNHASHED, Pin, read, select
from tests.support.closure import ROOT, closure

GROUPS = {
    "backend": ("base", "backend", "otel"),
    "worker": ("base", "worker", "train", "otel"),
    "sandbox": ("rewards",),
    "development": ("base", "backend", "worker", "train", "rewards", "otel", "dev"),
}


def pins() -> list[Pin]:
    return read(LOCK.read_text(encoding="utf-8"))


def test_every_package_has_hashes_and_groups() -> None:
    assert len(pins()) > 150
    for pin in pins():
        assert pin.groups, pin.name
        assert bool(pin.hashes) == (pin.name not in UNHASHED), pin.name
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in pin.hashes), pin.name


@pytest.mark.parametrize("place", GROUPS)
def test_a_place_gets_all_that_its_extras_require(place: str) -> None:
    """It is installed with --no-deps: what the lock's groups lack would be missing."""
    extras = [group for group in GROUPS[place] if group != "base"]
    required = set(closure("reinforge", *extras, base="base" in GROUPS[place]))
    names = {pin.name for pin in select(pins(), GROUPS[place])}
    assert required - names - set(UNHASHED) == set()


def test_the_images_install_these_groups() -> None:
    text = (ROOT / "Dockerfile").read_text()
    for place in ("backend", "worker", "sandbox"):
        assert f"lock.py print {' '.join(GROUPS[place])} >" in text
    assert f"lock.py print {' '.join(GROUPS['development'])} >" in (ROOT / "Makefile").read_text()


def test_versions_are_those_that_the_tests_run_with() -> None:
    installed = closure("reinforge", "backend", "worker", "train", "rewards", "otel")
    locked = {pin.name: pin.version for pin in pins()}
    assert {
        name: package.version.partition("+")[0] for name, package in installed.items()
    }.items() <= locked.items()


def test_pip_reads_it_and_refuses_another_file(tmp_path: Path) -> None:
    """Nothing is downloaded: the wheel lies beside the list, once as pinned and once with other bytes."""
    name = "idna"
    pinned = next(pin for pin in pins() if pin.name == name)
    wheel = f"{name}-{pinned.version}-py3-none-any.whl"
    (tmp_path / wheel).write_bytes(b"not the pinned file")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(pinned.lines())
    command = [
        sys.executable,
        "-m",
        "pip",
        "--isolated",
        "download",
        "--no-deps",
        "--require-hashes",
        "--no-index",
    ]
    done = subprocess.run(
        [*command, "--find-links", str(tmp_path), "--dest", str(tmp_path / "out"), "-r", str(requirements)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0 and "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(SystemExit, match="No such group: backnd"):
        select(pins(), ["backnd"])


def test_debians_python_has_what_it_needs() -> None:
    """Python 3.11.2: `redis` needs async-timeout before 3.11.3, which the tests' own interpreter may not have."""
    assert "async-timeout" in {pin.name for pin in select(pins(), ["backend"])}
    assert "setuptools" in {pin.name for pin in select(pins(), ["train"])}, "torch needs it from Python 3.12"
