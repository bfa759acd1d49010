"""scripts/gpu_bundle.sh: which wheels a CUDA machine without network gets. pip is replaced: nothing is downloaded."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = {"transformers", "peft", "pydantic", "pydantic-core", "pydantic-settings"}
PYTHON = """\
#!/bin/sh
case "$1 $2 $3" in
  "-m pip download")
    printf '%s\\n' "$@" > "$RECORD/download"
    while [ "$1" != -r ]; do [ "$1" = -d ] && out=$2; shift; done
    cp "$2" "$RECORD/requirements"; touch "$out/peft-1.whl" ;;
  "-m pip wheel")
    while [ "$1" != -w ]; do shift; done
    touch "$2/reinforge-1.whl" ;;
  *) exec REAL "$@" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The script with the lock, beside an interpreter that keeps what pip is asked for."""
    root = tmp_path / "checkout"
    (root / "scripts").mkdir(parents=True)
    for name in ("scripts/gpu_bundle.sh", "scripts/lock.py", "requirements.lock"):
        shutil.copy(ROOT / name, root / name)
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON.replace("REAL", sys.executable))
    python.chmod(0o755)
    return root


def bundle(checkout: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", str(checkout / "scripts" / "gpu_bundle.sh"), *arguments],
        cwd=checkout.parent,
        env={"PATH": "/usr/bin:/bin", "RECORD": str(checkout.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def names(checkout: Path) -> set[str]:
    lines = (checkout.parent / "requirements").read_text().splitlines()
    return {line.partition("==")[0] for line in lines if line[:1].isalnum()}


def test_it_brings_what_the_machine_lacks_with_the_hashes_of_the_lock(checkout: Path) -> None:
    done = bundle(checkout, "wheels")
    assert done.returncode == 0, done.stderr
    assert "2 wheels" in done.stdout and "wheels/*.whl" in done.stdout
    assert {path.name for path in (checkout.parent / "wheels").iterdir()} == {"peft-1.whl", "reinforge-1.whl"}
    assert names(checkout) >= OWN | {"orjson", "httpx-sse", "llguidance", "typing-inspection"}
    assert not names(checkout) & {"torch", "numpy", "pyarrow", "celery", "trl", "datasets"}
    requirements = (checkout.parent / "requirements").read_text()
    lock = (ROOT / "requirements.lock").read_text()
    assert all(line in lock for line in requirements.splitlines())
    assert requirements.count("--hash=sha256:") >= len(names(checkout))
    words = (checkout.parent / "download").read_text().split()
    assert "--require-hashes" in words and "3.12" in words


def test_what_the_machine_has_is_left_out_except_what_needs_our_version(
    checkout: Path, tmp_path: Path
) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text(
        "torch==2.11.0\nOrjson==3.13.0\ntransformers==5.17.0\nhttpx_sse @ file:///a\n-e git+b\n"
    )
    done = bundle(checkout, "--have", "freeze.txt", "--python", "3.13", "wheels")
    assert done.returncode == 0, done.stderr
    assert names(checkout) >= OWN | {"numpy", "pyarrow", "huggingface-hub", "httpx2"}
    assert not names(checkout) & {"torch", "orjson", "httpx-sse"}
    assert "3.13" in (checkout.parent / "download").read_text().split()


def test_the_peer_is_bundled_on_request(checkout: Path) -> None:
    assert bundle(checkout, "--peer", "wheels").returncode == 0
    assert names(checkout) >= OWN | {"trl", "datasets", "dill", "multiprocess"}
    assert "pandas" not in names(checkout)


def test_every_package_that_it_names_is_in_the_lock() -> None:
    script = (ROOT / "scripts" / "gpu_bundle.sh").read_text()
    lock = (ROOT / "requirements.lock").read_text()
    for variable in ("have:=", "own='", "offline='", "--peer) peer='"):
        _, _, rest = script.partition(variable)
        words = rest.partition("}" if ":=" in variable else "'")[0]
        assert words.split(), variable
        for name in words.split():
            assert f"\n{name}==" in f"\n{lock}", f"{name} is not in the lock"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Usage: gpu_bundle.sh"),
        (("--pear", "wheels"), "Unknown option --pear"),
        (("--python", "3.9", "wheels"), "not '3.9'"),
        (("--have", "nothing.txt", "wheels"), "--have needs a file"),
        (("--have", "cpu.txt", "wheels"), "has no torch"),
        (("full",), "full is not empty"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_fetched(
    checkout: Path, tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "peft-0.1.whl").touch()
    (tmp_path / "cpu.txt").write_text("numpy==2.0\n")
    done = bundle(checkout, *arguments)
    assert done.returncode in (1, 2) and reason in done.stderr
    assert not (tmp_path / "download").exists()
