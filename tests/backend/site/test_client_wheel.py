"""The client is installed from the server that it talks to."""

import io
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import reinforge
from backend.site import client_wheel
from tests.backend.server import Backend
from tests.support.closure import closure, expose

NAME = f"reinforge-{reinforge.__version__}-py3-none-any.whl"


def test_pip_installs_it_by_its_address_without_a_key(backend: Backend, tmp_path: Path) -> None:
    name = backend.bare.get("/client/latest").text.strip()
    assert name == NAME
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    site = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
    ]
    done = subprocess.run(
        [*command, f"{backend.url}/client/{name}"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    expose(closure("reinforge").values(), site)
    code = (
        "import reinforge, reinforge.cli.main, reinforge.offline.demo\n"
        "print(reinforge.__file__, reinforge.__version__, reinforge.offline.demo.job_file().name)\n"
    )
    where = subprocess.run(
        [str(python), "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert where.stdout.startswith(str(tmp_path.resolve())), where.stderr
    assert where.stdout.split()[1:] == [reinforge.__version__, "job.yaml"]
    assert python.with_name("reinforge").is_file()


def test_pip_finds_it_on_the_index_page(backend: Backend, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--dest",
        str(tmp_path),
    ]
    done = subprocess.run(
        [*command, "--find-links", f"{backend.url}/client/", "reinforge"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    page = backend.bare.get("/client/", headers={"host": 'a"<b>.example'})
    assert "<b>" not in page.text and page.headers["content-security-policy"].startswith("default-src 'none'")


def test_it_is_the_wheel_that_make_build_writes(wheel: Path) -> None:
    served = zipfile.ZipFile(io.BytesIO(client_wheel.client_wheel().content))
    with zipfile.ZipFile(wheel) as built:
        assert set(served.namelist()) == set(built.namelist())
        for name in built.namelist():
            if not name.endswith((".dist-info/WHEEL", ".dist-info/RECORD", ".dist-info/METADATA")):
                assert served.read(name) == built.read(name), name
        [metadata] = [name for name in built.namelist() if name.endswith("/METADATA")]
        fresh, ours = built.read(metadata).decode(), served.read(metadata).decode()
    assert [line for line in ours.split("\n") if line.startswith(("Name:", "Version:"))] == [
        line for line in fresh.split("\n") if line.startswith(("Name:", "Version:"))
    ]
    assert served.testzip() is None


def test_the_same_files_are_the_same_bytes() -> None:
    first = client_wheel.client_wheel()
    assert client_wheel.client_wheel.__wrapped__() == first


def test_it_is_downloaded_once_per_version(backend: Backend) -> None:
    response = backend.bare.get(f"/client/{NAME}")
    assert response.status_code == 200 and backend.bare.head(f"/client/{NAME}").status_code == 200
    again = backend.bare.get(f"/client/{NAME}", headers={"if-none-match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_another_version_says_which_one_is_here(backend: Backend) -> None:
    response = backend.bare.get("/client/reinforge-0.0.1-py3-none-any.whl")
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (404, "client_wheel_not_found")
    assert NAME in error["message"] and f"{backend.url}/client/{NAME}" in error["hint"]


def test_without_metadata_it_says_what_to_do(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    client_wheel.client_wheel.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(client_wheel, "distribution", missing)
        response = backend.bare.get("/client/latest")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "client_wheel_unavailable")
    assert backend.bare.get("/client/latest").status_code == 200
