"""The platform's wheel beside the client's: two distributions of one version, from one tree."""

import email
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest

import reinforge
from tests.reinforge.client.test_wheel import run
from tests.support.closure import ROOT, closure, expose


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [
            name_in_wheel
            for name_in_wheel in archive.namelist()
            if name_in_wheel.endswith(".dist-info/METADATA")
        ]
        return email.message_from_bytes(archive.read(name))


@pytest.fixture(scope="module")
def installed(wheel: Path, server_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with both wheels and links to what the platform's requires; made without network."""
    folder = tmp_path_factory.mktemp("platform") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel), str(server_wheel)], check=True, timeout=120)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    expose(closure("reinforge-server").values(), site)
    return python


def test_it_holds_the_rooms_the_migrations_and_the_page(server_wheel: Path) -> None:
    with zipfile.ZipFile(server_wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in names} == {"backend", "worker"}
    for needed in ("backend/main.py", "backend/site/openapi_examples.json", "backend/static/index.html",
                   "backend/guide/README.md", "backend/guide/img/architecture.svg", "backend/site/guide.css",
                   "backend/site/colors.css", "backend/jobs/report/report.css",
                   "backend/migrations/env.py", "worker/trainer/main.py", "worker/sandbox/__main__.py",
                   "worker/starter/starter-arith/model.safetensors"):  # fmt: skip
        assert needed in names
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_version_is_one(wheel: Path, server_wheel: Path) -> None:
    client, server = metadata(wheel), metadata(server_wheel)
    assert client["Version"] == server["Version"] == reinforge.__version__
    assert f"reinforge[backend,worker]=={client['Version']}" in (server.get_all("Requires-Dist") or [])
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(server.get_all("Provides-Extra") or []) <= set(extras)


@pytest.mark.long
def test_both_together_are_the_platform(installed: Path) -> None:
    code = (
        "import sys\n"
        "import backend.main, backend.background, worker.celery_app, worker.rpc.server, worker.supervisor.supervisor\n"
        "import worker.sandbox\n"
        "from backend.data.migrate import scripts_folder\n"
        "from backend.site.page import STATIC\n"
        "from reinforge.offline.demo import job_file\n"
        "from reinforge.offline.train import model_folder\n"
        "places = [module.__file__ for module in (backend, worker, sys.modules['reinforge'])]\n"
        "places += [STATIC / 'index.html', scripts_folder() / 'env.py', job_file(), model_folder('starter-arith')]\n"
        "print(all('/venv/lib/' in str(each) for each in places))\n"
        "print((STATIC / 'index.html').is_file(), len(list((scripts_folder() / 'versions').glob('*.py'))))\n"
        "print('torch' in sys.modules)\n"
    )
    inside, location, torch = run(installed, "-c", code).splitlines()
    migrations = len(list((ROOT / "migrations" / "versions").glob("*.py")))
    assert (inside, location, torch) == ("True", f"True {migrations}", "False")


@pytest.mark.long
def test_it_serves_the_client_that_is_installed_beside_it(installed: Path, wheel: Path) -> None:
    code = (
        "import io, zipfile\n"
        "from backend.site.client_wheel import client_wheel\n"
        "served = client_wheel()\n"
        "print(served.name, *sorted(zipfile.ZipFile(io.BytesIO(served.content)).namelist()))\n"
    )
    name, *files = run(installed, "-c", code).split()
    with zipfile.ZipFile(wheel) as built:
        assert (name, set(files)) == (wheel.name, set(built.namelist()))


@pytest.mark.long
def test_its_processes_start(installed: Path) -> None:
    assert '"openapi"' in run(installed, "-P", "-m", "backend", "openapi")
    assert "--socket" in run(installed, "-P", "-m", "worker.sandbox", "--help")
