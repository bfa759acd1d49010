"""Downloading and unpacking adapters."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.client import Reinforge
from tests.support.stub_server import Answer, StubServer


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 2
            tar.addfile(info, io.BytesIO(b"{}"))
    return buffer.getvalue()


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def test_download_writes_the_file_whole_and_reports_progress(stub: StubServer, tmp_path: Path) -> None:
    content = archive("adapter_config.json")
    stub.on("GET", "/adapters/adp_1/download", Answer(200, content))
    progress: list[tuple[int, int | None]] = []
    with Reinforge(stub.url, "k") as client:
        path = client.adapters.download(
            "adp_1", tmp_path / "a.tar.gz", progress=lambda *p: progress.append(p)
        )
    assert path.read_bytes() == content
    assert progress[-1] == (len(content), len(content))
    assert [p.name for p in tmp_path.iterdir()] == ["a.tar.gz"]


@pytest.mark.parametrize("prefix", ["", "my-adapter/"])
def test_extract_gives_the_folder_with_the_config(stub: StubServer, tmp_path: Path, prefix: str) -> None:
    content = archive(f"{prefix}adapter_config.json", f"{prefix}adapter_model.safetensors")
    stub.on("GET", "/adapters/adp_1/download", Answer(200, content))
    with Reinforge(stub.url, "k") as client:
        folder = client.adapters.extract("adp_1", tmp_path / "adapter")
    assert sorted(p.name for p in folder.iterdir()) == ["adapter_config.json", "adapter_model.safetensors"]
    assert [p.name for p in tmp_path.iterdir()] == ["adapter"]


def hostile(kind: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        good = tarfile.TarInfo("adapter_config.json")
        good.size = 2
        tar.addfile(good, io.BytesIO(b"{}"))
        info = tarfile.TarInfo(
            {"parent": "../outside", "absolute": "/tmp/outside-of-everything"}.get(kind, "link")
        )
        info.type = {"symlink": tarfile.SYMTYPE, "hardlink": tarfile.LNKTYPE, "fifo": tarfile.FIFOTYPE}.get(
            kind, tarfile.REGTYPE
        )
        info.linkname = "/etc/passwd"
        tar.addfile(info)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["parent", "absolute", "symlink", "hardlink", "fifo"])
def test_archives_that_lead_outside_are_refused_whole(stub: StubServer, tmp_path: Path, kind: str) -> None:
    stub.on("GET", "/adapters/adp_1/download", Answer(200, hostile(kind)))
    with Reinforge(stub.url, "k") as client, pytest.raises(tarfile.TarError):
        client.adapters.extract("adp_1", tmp_path / "inner" / "adapter")
    assert [p for p in tmp_path.rglob("*") if not p.is_dir()] == []
    assert not Path("/tmp/outside-of-everything").exists()
