"""Reading of bundles: every byte is checked, and nothing is written outside the folder."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reinforge.bundles.archive import unpack_bundle
from reinforge.errors import InvalidInput, TooLarge

FILES = {"metrics.parquet": b"points", "data/dataset.jsonl": b'{"prompt": "1+1="}\n', "rewards/0.py": b"code"}


def manifest(**changes: Any) -> dict[str, Any]:
    files = [
        {"path": path, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
        for path, text in FILES.items()
    ]
    data = {"dataset": "file-1", "name": "sums", "format": "jsonl", "numbers": [], "rows": 1, "bytes": 19}
    return {
        "format": 1, "job": "ftjob-1", "name": "sums", "status": "succeeded", "step": 3, "spec": {},
        "resolved_spec": {},
        "model": {"id": "starter-arith", "source": "builtin:starter-arith", "sha256": None},
        "dataset": data | {"sha256": "a" * 64, "path": "data/dataset.jsonl"}, "held_out": None,
        "rewards": [{"name": "r", "kind": "python", "revision": "rew_1@1", "path": "rewards/0.py"}], "judges": [],
        "start": None, "fork": None, "changes": [], "facts": {}, "metrics": "metrics.parquet", "rollouts": [],
        "checkpoints": [], "files": files,
    } | changes  # fmt: skip


def write(path: Path, document: Any, files: dict[str, bytes] | None = None) -> Path:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, text in {
            "bundle.json": json.dumps(document).encode(),
            **(FILES if files is None else files),
        }.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return path


def unpack(tmp_path: Path, bundle: Path) -> Path:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    unpack_bundle(bundle, folder)
    return folder


def test_its_files_are_written_as_the_manifest_lists_them(tmp_path: Path) -> None:
    folder = unpack(tmp_path, write(tmp_path / "a.tar", manifest()))
    assert {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    } == FILES


def listed(path: str) -> dict[str, Any]:
    first, *rest = manifest()["files"]
    return manifest(
        files=[first, *rest, {"path": path, "bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}]
    )


@pytest.mark.parametrize(
    ("document", "files", "reason"),
    [
        (manifest(format=2), None, "this release reads format 1"),
        (manifest(step=-1), None, "step: Input should be greater"),
        (manifest(files=[]), None, "it does not contain"),
        (listed("../outside"), None, "files.3.path"),
        (listed("/tmp/outside"), None, "files.3.path"),
        (listed("data/../../outside"), None, "files.3.path"),
        (listed("data"), FILES | {"data": b""}, "both a file and a folder"),
        (listed("rewards/0.py"), None, "lists a file twice"),
        ([1], None, "is not a JSON object"),
        (manifest(), FILES | {"rewards/0.py": b"evil"}, "the checksum of rewards/0.py"),
        (manifest(), FILES | {"rewards/0.py": b"longer"}, "has 6 bytes, but its manifest says 4"),
        (manifest(), FILES | {"more": b""}, "files that its manifest does not list"),
        (manifest(), {"metrics.parquet": b"points"}, "data/dataset.jsonl is missing"),
        (
            manifest(),
            {name.replace("/0", "/1"): text for name, text in FILES.items()},
            "it has 'rewards/1.py' where rewards/0.py is expected",
        ),
    ],
)  # fmt: skip
def test_what_differs_from_the_manifest_is_refused(
    tmp_path: Path, document: Any, files: dict[str, bytes] | None, reason: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        unpack(tmp_path, write(tmp_path / "a.tar", document, files))
    assert caught.value.code == "invalid_bundle"
    assert reason in caught.value.message
    assert not (tmp_path / "outside").exists()


def deeply_nested(path: Path) -> None:
    with tarfile.open(path, "w") as tar:
        text = b'{"format": 1, "spec": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        info = tarfile.TarInfo("bundle.json")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))


def link(path: Path) -> None:
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("bundle.json")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info)


def link_among_the_files(path: Path) -> None:
    write(path, listed("data/link"))
    with tarfile.open(path, "a") as tar:
        info = tarfile.TarInfo("data/link")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info)


def extended_header(path: Path) -> None:
    """Its size could fill the memory of a reader that follows it."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "x" * 9000}) as tar:
        tar.addfile(tarfile.TarInfo("bundle.json"))


def cut_off(path: Path) -> None:
    path.write_bytes(write(path, manifest()).read_bytes()[:3000])


@pytest.mark.parametrize(
    "write_file",
    [
        deeply_nested,
        link,
        link_among_the_files,
        extended_header,
        cut_off,
        lambda path: path.write_bytes(b"no tar"),
        Path.touch,
        Path.mkdir,
    ],
)
def test_other_files_are_refused(tmp_path: Path, write_file: Callable[[Path], object]) -> None:
    write_file(tmp_path / "a.tar")
    with pytest.raises(InvalidInput) as caught:
        unpack(tmp_path, tmp_path / "a.tar")
    assert caught.value.code == "invalid_bundle"


def test_more_than_fits_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    files = manifest()["files"]
    files[0]["bytes"] = 1 << 40
    with pytest.raises(TooLarge):
        unpack(tmp_path, write(tmp_path / "a.tar", manifest(files=files)))
    assert not list((tmp_path / "unpacked").iterdir())
