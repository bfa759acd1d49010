"""The wheel without extras: its base dependencies, and nothing else, run the client and the command line."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from reinforge.offline.examples import NAMES
from tests.support.closure import ROOT, closure, expose

HEAVY = ("torch", "transformers", "fastapi", "starlette", "celery", "sqlalchemy", "psycopg", "boto3", "numpy")


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and links to its base dependencies; made without network."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, timeout=120)
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    expose(closure("reinforge").values(), site)
    return python


def run(python: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, timeout=120, cwd=python.parent
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_holds_the_client_and_nothing_else(wheel: Path) -> None:
    """Every file of `reinforge`, the demo's files inside it, and what pip wants to know."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in names} == {"reinforge"}
    inside = {
        f"{place}/{path.relative_to(ROOT / folder)}"
        for folder, place in (
            ("reinforge", "reinforge"),
            *((f"examples/{name}", f"reinforge/examples/{name}") for name in NAMES),
        )
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == inside
    assert "reinforge/py.typed" in names and "reinforge/examples/arithmetic/job.yaml" in names


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


@pytest.mark.long
def test_the_command_line_runs(bare: Path) -> None:
    help_text = run(bare, "-m", "reinforge.cli.main", "--help")
    for verb in ("eval", "gate", "dataset", "job", "models", "reward"):
        assert verb in help_text
    run(bare, "-m", "reinforge.cli.main", "job", "schema")
    run(bare, "-m", "reinforge.cli.main", "presets", "list", "--json")


def test_what_needs_the_platform_says_what_to_install(bare: Path, tmp_path: Path) -> None:
    job = str(ROOT / "examples" / "arithmetic" / "job.yaml")
    for command in (["up", "--home", str(tmp_path / "home")], ["demo"], ["train", job], ["preflight", job]):
        line = [str(bare), "-m", "reinforge.cli.main", *command]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == 6, done.stdout + done.stderr
        assert "reinforge-server[train]" in done.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.long
def test_a_strict_type_checker_sees_its_types(bare: Path, tmp_path: Path) -> None:
    script = tmp_path / "uses_it.py"
    script.write_text(
        "from reinforge.client import AsyncReinforge, Reinforge\n\n\n"
        "def newest(client: Reinforge) -> str:\n"
        "    return next(client.jobs.list()).id\n\n\n"
        "async def steps(client: AsyncReinforge) -> int:\n"
        "    job = await client.jobs.get('ftjob-1')\n"
        "    return job.progress.step\n\n\n"
        "def wrong(client: Reinforge) -> int:\n"
        "    return client.jobs.get('ftjob-1').id\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", os.devnull]
    done = subprocess.run(
        [*command, "--python-executable", str(bare), str(script)],
        capture_output=True, text=True, timeout=280, cwd=tmp_path,
    )  # fmt: skip
    faults = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(faults) == 1, done.stdout + done.stderr
    assert 'got "str", expected "int"' in faults[0]
