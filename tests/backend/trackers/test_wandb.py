"""Export to W&B with its own library: offline files, and online against a stub of its server through the proxy."""

import asyncio
import base64
import os
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.trackers import wandb
from backend.trackers.batch import ExportBatch, ExportFailure, ExportSteps
from backend.trackers.proxy import EgressProxy
from reinforge.net.outbound import Guard
from scripts.wandb_library import install
from tests.backend.people import refusal
from tests.backend.server import Backend
from tests.backend.trackers.test_exports import exports, finish, job_with_steps, send
from tests.support.wandb_stub import WandbStub

KEY = "k" * 40
NAME = "wandb.test"


@pytest.fixture(scope="module")
def library() -> Iterator[Path]:
    """W&B's library for the export's process."""
    folder = install()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        yield folder


@pytest.fixture
def stub(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WandbStub]:
    server = WandbStub(tmp_path, NAME)
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    yield server
    server.close()


def batch(stub: WandbStub, *steps: int, **fields: Any) -> ExportBatch:
    made = ExportBatch(
        export_id="exp_1",
        kind="wandb",
        url=f"https://{NAME}:{stub.port}",
        destination="sums",
        entity=None,
        username=None,
        key=KEY,
        run_id=None,
        job_id="ftjob-1",
        name="adds",
        job_url="https://rf.example.org/jobs/ftjob-1",
        notes="",
        tags=["ablation"],
        started=1.0,
        config={"limits": {"steps": 4}},
        steps=[ExportSteps(step, 1.0, {"reward/mean": step / 2}) for step in steps],
        last=steps[-1],
        first=True,
    )
    return replace(made, **fields)


async def _here(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


ALLOWED = Guard(frozenset({NAME}), resolve=_here)
"""Only the proxy knows the name's address: what reaches the stub has gone through it."""


def export(made: ExportBatch, folder: Path, guard: Guard = ALLOWED) -> Any:
    return asyncio.run(wandb.send(made, guard, folder, offline=False))


def test_steps_arrive_once_whatever_is_sent_again(stub: WandbStub, tmp_path: Path) -> None:
    folder = tmp_path / "wandb"
    abandoned = folder / "sent-by-a-killed-process"
    abandoned.mkdir(parents=True)
    os.utime(abandoned, (1, 1))
    result = export(batch(stub, 1, 2), folder)
    assert result.run_url.endswith("/runs/exp_1")
    run = stub.runs["exp_1"]
    assert [(row["_step"], row["reward/mean"]) for row in run.rows()] == [(1, 0.5), (2, 1.0)]
    assert run.variable("tags") == ["ablation"]
    assert "https://rf.example.org/jobs/ftjob-1" in run.variable("notes")
    assert '"limits"' in run.variable("config")
    assert run.exit_codes == []  # it goes on
    # A process that was killed before it could note what has arrived sends it again.
    end = batch(stub, 1, 2, 3, 4, status="failed", summary={"verdict": "collapsed"})
    export(end, folder)
    assert [row["_step"] for row in run.rows()] == [1, 2, 3, 4]
    assert (run.summary["reinforge/status"], run.summary["reinforge/verdict"]) == ("failed", "collapsed")
    assert run.exit_codes == [1]
    token = base64.b64encode(f"api:{KEY}".encode()).decode()
    assert stub.authorizations - {None} == {f"Basic {token}"}
    assert list(folder.iterdir()) == []


def test_it_reaches_no_address_that_is_not_allowed(stub: WandbStub, tmp_path: Path) -> None:
    with pytest.raises(ExportFailure, match="inside a network"):
        export(batch(stub, 1), tmp_path / "wandb", Guard(resolve=_here))
    assert stub.runs == {}

    async def ask(guard: Guard, authority: str, password: bool = True) -> tuple[str, list[str]]:
        proxy = EgressProxy(guard)
        async with proxy.listening() as address:
            credentials, _, place = address.removeprefix("http://").rpartition("@")
            token = base64.b64encode(credentials.encode()).decode() if password else "eDp4"
            reader, writer = await asyncio.open_connection(*place.split(":"))
            head = f"CONNECT {authority} HTTP/1.1\r\nProxy-Authorization: Basic {token}\r\n\r\n"
            writer.write(head.encode())
            answer = (await reader.readline()).decode()
            writer.close()
        return answer, proxy.refusals

    allowed = f"{NAME}:{stub.port}"
    assert "200" in asyncio.run(ask(ALLOWED, allowed))[0]
    assert "403" in asyncio.run(ask(ALLOWED, allowed, password=False))[0]
    for authority in ("127.0.0.1:5432", "169.254.169.254:80", "[::1]:80", "nonsense", f"{NAME}@10.0.0.1:1"):
        answer, refusals = asyncio.run(ask(Guard(), authority))
        assert "403" in answer and refusals, authority


def test_a_key_is_in_no_message(stub: WandbStub, tmp_path: Path) -> None:
    short = batch(stub, 1, key="short")
    with pytest.raises(ExportFailure) as failure:
        export(short, tmp_path / "wandb")
    assert "short" not in str(failure.value).split()


def records(file: Path) -> Iterator[Any]:
    """Records of an offline run: W&B's protobufs in a log of LevelDB's format."""
    from wandb.proto import wandb_internal_pb2  # type: ignore[import-not-found]

    data, place, parts = file.read_bytes(), 7, b""
    while place + 7 <= len(data):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            record = wandb_internal_pb2.Record()
            record.ParseFromString(parts)
            yield record
            parts = b""


def test_offline_a_whole_job_is_written_as_one_run(
    database_url: str, tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(library)])
    with Backend(database_url, tmp_path, wandb_mode="offline", url="https://rf.example.org") as backend:
        backend.register()
        body = {"name": "wb", "kind": "wandb", "destination": "sums", "every_job": True}
        assert backend.api.post("/trackers", json=body).status_code == 201
        job, trainer = job_with_steps(backend, 3)
        send(backend)
        assert exports(backend, job)[0]["state"] == "pending"
        finish(trainer, 3)
        for _ in range(2):
            send(backend)
        name = backend.api.get(f"/jobs/{job}").json()["name"]
        [export_info] = exports(backend, job)
        assert (export_info["state"], export_info["step"], export_info["error"]) == ("done", 3, None)
        [file] = (tmp_path / "wandb").rglob("*.wandb")
        written = list(records(file))
    [run] = [record.run for record in written if record.HasField("run")]
    assert (run.run_id, run.project, run.display_name) == (export_info["id"], "sums", name)
    steps = [record.history.step.num for record in written if record.HasField("history")]
    assert steps == [1, 2, 3]
    summaries = [item for record in written if record.HasField("summary") for item in record.summary.update]
    assert ("reinforge/status", '"succeeded"') in [(item.key, item.value_json) for item in summaries]


def test_without_the_library_it_says_so(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Backend(database_url, tmp_path) as backend:
        body = {"name": "wb", "kind": "wandb", "destination": "sums"}
        if not wandb.is_installed():
            assert refusal(backend.api.post("/trackers", json=body)) == (409, "export_unavailable")
        for fields in ({"destination": "a/b"}, {"url": "http://example.org"}):
            assert backend.api.post("/trackers", json=body | fields).status_code == 422
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = ExportBatch(
            export_id="exp_1", kind="wandb", url=f"https://127.0.0.1:{server.getsockname()[1]}", destination="sums",
            entity=None, username=None, key=KEY, run_id=None, job_id="j", name="n", job_url="u", notes="", tags=[],
            started=1.0, config={}, steps=[], last=-1, first=True,
        )  # fmt: skip
        with pytest.raises(ExportFailure, match="no W&B library"):
            export(made, tmp_path / "wandb", Guard.allowing("127.0.0.1"))
