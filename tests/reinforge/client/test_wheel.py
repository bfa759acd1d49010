"""The wheel without extras: its base dependencies, and nothing else, run the client and the command line."""

import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

HEAVY = ("torch", "transformers", "fastapi", "starlette", "celery", "sqlalchemy", "psycopg", "boto3", "numpy")


def closure(name: str, found: dict[str, Distribution] | None = None) -> dict[str, Distribution]:
    """A distribution and what it requires without extras, by name."""
    found = {} if found is None else found
    if name not in found:
        found[name] = distribution(name)
        for line in found[name].requires or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                closure(requirement.name.lower().replace("_", "-"), found)
    return found


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and links to its base dependencies; made without network."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, timeout=120)
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for name, each in closure("reinforge").items():
        if name == "reinforge":
            continue
        tops = {file.parts[0] for file in each.files or [] if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            if not (site / top).exists():
                (site / top).symlink_to(str(each.locate_file(top)))
    return python


def run(python: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, timeout=120, cwd=python.parent
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nothing_heavy_is_required() -> None:
    assert closure("reinforge").keys().isdisjoint(HEAVY)


def test_the_client_runs_and_loads_nothing_heavy(bare: Path) -> None:
    code = (
        "import sys, asyncio\n"
        "from importlib.util import find_spec\n"
        "from reinforge.client import AsyncReinforge, Reinforge\n"
        "Reinforge('http://127.0.0.1:9').close(); asyncio.run(AsyncReinforge('http://127.0.0.1:9').close())\n"
        f"heavy = {HEAVY!r}\n"
        "print([each for each in heavy if each in sys.modules or find_spec(each)])\n"
        "print('site-packages' in sys.modules['reinforge'].__file__)\n"
    )
    assert run(bare, "-c", code).split("\n")[:2] == ["[]", "True"]


def test_the_command_line_runs(bare: Path) -> None:
    said = run(bare, "-m", "reinforge.cli.main", "--help")
    for verb in ("eval", "gate", "dataset", "job", "models", "reward"):
        assert verb in said
    run(bare, "-m", "reinforge.cli.main", "job", "schema")
    run(bare, "-m", "reinforge.cli.main", "presets", "list", "--json")
