"""Distributions that an installation of this tree requires, by the metadata of those installed here. No network.

    expose(closure("reinforge", "backend"), site_packages)   # a bare interpreter sees these distributions only

The requirements of `reinforge` and `reinforge-server` come from their pyproject.toml files, because the metadata of an
editable installation is as old as the installation.
"""

import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
_PROJECTS = {"reinforge": ROOT, "reinforge-server": ROOT / "scripts" / "server_wheel"}


def closure(name: str, *extras: str, base: bool = True) -> dict[str, Distribution]:
    """Every distribution that `name[extras]` requires, directly or not, by canonical name; without our own.

    base=False: what the extras name themselves, without the dependencies of `name`.
    """
    required: dict[str, Distribution] = {}
    visited: set[tuple[str, str]] = set()
    pending = [(name, extra) for extra in (("", *extras) if base else extras)]
    while pending:
        pair = pending.pop()
        if pair in visited:
            continue
        visited.add(pair)
        project, extra = pair
        if project not in _PROJECTS:
            required.setdefault(project, distribution(project))
        for requirement in _requirements(project, extra):
            pending += [(canonicalize_name(requirement.name), extra) for extra in ("", *requirement.extras)]
    return required


def _requirements(project: str, extra: str) -> list[Requirement]:
    folder = _PROJECTS.get(project)
    if folder is not None:
        table = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        lines = table["optional-dependencies"][extra] if extra else table["dependencies"]
    else:
        lines = distribution(project).requires or []
    requirements = [Requirement(line) for line in lines]
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra})
    ]


def expose(distributions: Iterable[Distribution], site: Path) -> None:
    """Link the distributions' packages and metadata into a `site-packages` folder, and nothing else."""
    for installed in distributions:
        for top in sorted({file.parts[0] for file in installed.files or []}):
            target = Path(str(installed.locate_file(top)))
            if top in ("..", "__pycache__") or target.suffix == ".pth" or (site / top).exists():
                continue
            (site / top).symlink_to(target)
