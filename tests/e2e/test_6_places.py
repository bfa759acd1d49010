"""The demo from awkward places: a clone in a 0700 folder with a path of 200 characters, a normal user."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import ROOT, assert_nothing_left

UID = 65534  # nobody: a user that every machine has; initdb wants one with a name


def clone(target: Path) -> Path:
    """The files of the working tree, with the built page, in a new folder."""
    target.mkdir(parents=True)
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in [
        *names,
        *(str(p.relative_to(ROOT)) for p in (ROOT / "frontend" / "dist").rglob("*") if p.is_file()),
    ]:
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    job = yaml.safe_load((target / "examples/arithmetic/job.yaml").read_text())
    job |= {
        "rollout": {"prompts_per_step": 2, "completions_per_prompt": 4, "max_completion_tokens": 40},
        "evaluation": {"every_steps": 0, "rows": 4, "samples_per_row": 1},
        "limits": {"steps": 2},
    }
    (target / "examples/arithmetic/job.yaml").write_text(yaml.safe_dump(job))
    return target


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="rf-places-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    subprocess.run(["rm", "-rf", folder], check=False)  # shutil takes four times as long for 100,000 files


def run_in(
    place: Path, python: list[str], environment: dict[str, str], **options: object
) -> dict[str, object]:
    command = [
        *python,
        "-m",
        "reinforge.cli.main",
        "demo",
        "--exit",
        "--port",
        "0",
        "--home",
        str(place / ".reinforge"),
    ]
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=400, **options
    )  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    assert_nothing_left(place / ".reinforge")
    return dict(json.loads((place / "demo-summary.json").read_text()))


@pytest.mark.long
def test_from_a_private_folder_with_a_path_of_200_characters(open_folder: Path) -> None:
    """20 s: a whole platform starts there and trains two steps."""
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    place = closed / ("x" * (199 - len(str(closed))))
    assert len(str(place)) == 200
    clone(place)
    environment = os.environ | {"PYTHONPATH": str(place)}
    assert run_in(place, [sys.executable], environment)["status"] == "succeeded"


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="started as a normal user already: the other tests show it")
def test_as_a_normal_user(open_folder: Path) -> None:
    """With a copied interpreter, because that of the tests may lie below a 0700 home.

    25 s: it starts a whole platform and trains two steps.
    """
    place = clone(open_folder / "user" / "main")
    prefix = open_folder / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (prefix / "bin").mkdir(parents=True)
    shutil.copy(Path(sys._base_executable).resolve(), prefix / "bin" / version)  # type: ignore[attr-defined]
    skip = shutil.ignore_patterns("site-packages", "test")
    shutil.copytree(sysconfig.get_path("stdlib"), prefix / "lib" / version, ignore=skip)
    for library in Path(sysconfig.get_config_var("LIBDIR")).glob("libpython3*.so*"):
        shutil.copy(library, prefix / "lib" / library.name)
    packages = open_folder / "packages"
    if subprocess.run(["cp", "-al", sysconfig.get_path("purelib"), packages], check=False).returncode:
        shutil.rmtree(packages)  # links reach no other file system
        subprocess.run(["cp", "-a", "--reflink=auto", sysconfig.get_path("purelib"), packages], check=True)
    for editable in packages.glob("*reinforge*.pth"):
        editable.unlink()
    subprocess.run(["chown", "-R", f"{UID}:{UID}", str(open_folder / "user")], check=True)
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(open_folder / "user"), "LANG": "C.UTF-8",
        "PYTHONHOME": str(prefix), "LD_LIBRARY_PATH": str(prefix / "lib"),
        "PYTHONPATH": f"{place}:{packages}",
    }  # fmt: skip
    python = [str(prefix / "bin" / version), "-s"]
    summary = run_in(place, python, environment, user=UID, group=UID, extra_groups=[])
    assert summary["status"] == "succeeded"
    owners = {p.stat().st_uid for p in (place / ".reinforge").rglob("*") if p.exists()}
    assert owners == {UID}
