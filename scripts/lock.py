#!/usr/bin/env python3
"""requirements.lock: the version of every package, and the SHA-256 of its files.

    python scripts/lock.py write                    # pins what .venv has (CONTRIBUTING.md, "Dependencies")
    python scripts/lock.py print base backend       # lines for `pip install --no-deps --require-hashes`
    python scripts/lock.py list base backend        # the same with what has no hash, for an inventory

A comment below each package names the groups that need it: the extras of pyproject.toml, and `build`. The group of an
extra contains what the extra requires, directly or not; `base` is what the project requires without any extra.
torch has a version and no hash: its builds come from different indexes, and each brings libraries of its own.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
INDEX = "https://pypi.org/simple"
BUILD = ("hatchling", "editables", "setuptools", "wheel")
"""What builds our own package and those that come as sources only."""
WITHOUT_DEPENDENCIES = ("trl",)
"""Installed alone: the tests compare against it, and its own requirements do not fit ours."""
UNHASHED = ("torch",)
PYTHONS = ("3.11", "3.12", "3.13")
PATCHES = ("0", "9")
"""Debian 12 has Python 3.11.2, and some requirements depend on that."""
HEADER = """\
# Versions and SHA-256 of every package. Written by scripts/lock.py; the comment below a package names its groups.
"""


@dataclass(frozen=True)
class Pin:
    name: str
    version: str
    hashes: tuple[str, ...]
    groups: frozenset[str]

    def lines(self) -> str:
        """As a requirements file has it."""
        hashes = "".join(f" \\\n    --hash=sha256:{digest}" for digest in self.hashes)
        return f"{self.name}=={self.version}{hashes}\n"


def read(text: str) -> list[Pin]:
    """The packages of a lock file's text. A line of versions alone is read, too, with no hash and no group."""
    pins = []
    for block in re.split(r"\n(?=[A-Za-z0-9])", text):
        lines = [line.strip(" \\") for line in block.splitlines()]
        name, _, version = next((line for line in lines if not line.startswith("#")), "").partition("==")
        if version:
            hashes = tuple(line.removeprefix("--hash=sha256:") for line in lines if line.startswith("--hash"))
            groups = [line[2:].split() for line in lines[1:] if line.startswith("# ")]
            pins.append(Pin(name, version, hashes, frozenset(groups[0] if groups else ())))
    return pins


def select(pins: Iterable[Pin], groups: Iterable[str]) -> list[Pin]:
    """Those of any of the groups."""
    names = set(groups)
    groups_here = {group for pin in pins for group in pin.groups}
    if unknown := names - groups_here:
        raise SystemExit(
            f"No such group: {', '.join(sorted(unknown))}. Groups: {', '.join(sorted(groups_here))}"
        )
    return [pin for pin in pins if pin.groups & names]


def write() -> None:
    pins = [
        Pin(name, version, () if name in UNHASHED else _hashes(name, version), frozenset(groups))
        for name, (version, groups) in sorted(_installed().items())
    ]
    body = "".join(pin.lines() + f"    # {' '.join(sorted(pin.groups))}\n" for pin in pins)
    LOCK.write_text(HEADER + body, encoding="utf-8")
    print(f"{LOCK.name}: {len(pins)} packages, {sum(len(pin.hashes) for pin in pins)} files")


def _installed() -> dict[str, tuple[str, set[str]]]:
    """Version and groups of every package that a group needs, by canonical name."""

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {
        "base": project["dependencies"],
        "build": BUILD,
        **project["optional-dependencies"],
    }
    groups["dev"] = [*groups["dev"], *WITHOUT_DEPENDENCIES]
    packages: dict[str, tuple[str, set[str]]] = {}
    for group, requirements in groups.items():
        for name in _closure(requirements):
            packages.setdefault(name, (_version(name), set()))[1].add(group)
    return packages


def _version(name: str) -> str:
    """What is installed, without the label of a local build; the newest release of what only other Pythons need."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.version import Version

    try:
        return distribution(name).version.partition("+")[0]
    except PackageNotFoundError:
        versions = [Version(version) for version in _index(name)["versions"]]
        return str(max(version for version in versions if not version.is_prerelease))


def _closure(requirements: Iterable[str]) -> set[str]:
    """Canonical names of what these require, directly or not, on Linux with any of `PYTHONS`."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    def applies(requirement: Requirement, extra: str) -> bool:
        marker = requirement.marker
        places = (
            {"python_version": python, "python_full_version": f"{python}.{patch}", "extra": extra}
            for python in PYTHONS
            for patch in PATCHES
        )
        return marker is None or any(marker.evaluate(place) for place in places)

    visited: set[tuple[str, str]] = set()
    pending = [(Requirement(line), "") for line in requirements]
    while pending:
        requirement, extra = pending.pop()
        if not applies(requirement, extra):
            continue
        name = canonicalize_name(requirement.name)
        for own_extra in ("", *requirement.extras):
            if (name, own_extra) in visited:
                continue
            visited.add((name, own_extra))
            if name in WITHOUT_DEPENDENCIES:
                continue
            try:
                lines = distribution(name).requires or []
            except PackageNotFoundError:
                if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                    raise SystemExit(f"{name} is needed and not installed here (by {requirement})") from None
                lines = []
            pending += [(Requirement(line), own_extra) for line in lines]
    return {name for name, _ in visited}


@cache
def _index(name: str) -> dict[str, Any]:
    """A project's page of the index (PEP 691)."""
    import httpx

    headers = {"accept": "application/vnd.pypi.simple.v1+json"}
    answer = httpx.get(f"{INDEX}/{name}/", headers=headers, follow_redirects=True, timeout=60)
    page: dict[str, Any] = answer.raise_for_status().json()
    return page


def _hashes(name: str, version: str) -> tuple[str, ...]:
    """SHA-256 of the files of a release that pip may install here: wheels for Linux and any system, else the source."""
    from packaging.utils import parse_sdist_filename, parse_wheel_filename

    files = {file["filename"]: file["hashes"]["sha256"] for file in _index(name)["files"]}

    def of_version(suffix: str) -> Iterator[str]:
        for filename in files:
            try:
                if filename.endswith(suffix):
                    parse = parse_wheel_filename if suffix == ".whl" else parse_sdist_filename
                    if str(parse(filename)[1]) == version:
                        yield filename
            except ValueError:  # an old release with a name of its own
                continue

    wheels = [filename for filename in of_version(".whl") if _fits(filename)]
    digests = tuple(sorted(files[filename] for filename in wheels or of_version(".tar.gz")))
    if not digests:
        raise SystemExit(f"{INDEX} has no file of {name} {version} for these systems")
    return digests


def _fits(filename: str) -> bool:
    from packaging.utils import parse_wheel_filename

    numbers = [python.replace(".", "") for python in PYTHONS]
    interpreters = {"py3", "py2", *(f"{kind}{number}" for kind in ("cp", "py") for number in numbers)}
    for tag in parse_wheel_filename(filename)[3]:
        stable = tag.abi == "abi3" and tag.interpreter.startswith("cp3")
        glibc = "manylinux" in tag.platform and tag.platform.endswith(("_x86_64", "_aarch64"))
        if (tag.interpreter in interpreters or stable) and (glibc or tag.platform == "any"):
            return True
    return False


def main(arguments: list[str]) -> None:
    match arguments:
        case ["write"]:
            write()
        case ["print" | "list" as verb, *groups] if groups:
            pins = select(read(LOCK.read_text(encoding="utf-8")), groups)
            sys.stdout.writelines(pin.lines() for pin in pins if pin.hashes or verb == "list")
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
