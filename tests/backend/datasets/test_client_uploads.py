"""The SDK and the command line send large files in parts, and go on where an interrupted one stopped."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.uploads import endpoints, numbered_parts
from reinforge.client import Reinforge
from reinforge.client.protocol import ServerUnreachable
from reinforge.errors import InvalidInput
from reinforge.schemas.uploads import LARGE_BYTES
from reinforge.storage.parts import PartUrl, S3Parts
from tests.backend.datasets.test_numbered_uploads import LARGE, SMALL, long_rows, rows
from tests.backend.server import OWNER_KEY, Backend, wait_until


@pytest.fixture
def client(backend: Backend) -> Iterator[Reinforge]:
    with Reinforge(backend.url, OWNER_KEY, retries=0) as one:
        yield one


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered_parts, "PART_BYTES", SMALL)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def part_ages(backend: Backend) -> dict[int, Any]:
    """When each part of the newest upload came."""
    ages = backend.sql(
        "SELECT number, created_at FROM upload_part WHERE upload_id ="
        " (SELECT id FROM upload ORDER BY created_at DESC LIMIT 1)"
    )
    return dict(ages)  # type: ignore[arg-type]


@pytest.mark.usefixtures("small_parts")
class TestClient:
    def test_a_file_in_parts_is_the_same_dataset(self, client: Reinforge, tmp_path: Path) -> None:
        content = rows(200, start=30_000)
        file = written(tmp_path / "sums.jsonl", content)
        progress: list[tuple[int, int | None]] = []
        made = client.datasets.push(file, in_parts=True, progress=lambda *counts: progress.append(counts))
        assert (made.rows, made.bytes, made.name) == (200, len(content), "sums.jsonl")
        assert progress[0] == (0, len(content)) and progress[-1] == (len(content), len(content))
        assert [done for done, _ in progress] == sorted(done for done, _ in progress)
        assert client.datasets.push(file, in_parts=True).id == made.id, "equal content is found"

    def test_an_interrupted_push_goes_on(self, client: Reinforge, backend: Backend, tmp_path: Path) -> None:
        file = written(tmp_path / "sums.jsonl", rows(200, start=40_000))

        def interrupt(done: int, total: int | None) -> None:
            if done >= 3 * SMALL:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            client.datasets.push(file, in_parts=True, progress=interrupt)
        before = part_ages(backend)
        assert set(before) == {1, 2, 3}
        progress: list[int] = []

        def note(done: int, total: int | None) -> None:
            progress.append(done)
            if done == total:
                assert {number: part_ages(backend)[number] for number in before} == before, "not sent again"

        made = client.datasets.push(file, in_parts=True, progress=note)
        assert (progress[0], made.rows) == (3 * SMALL, 200)

    def test_a_backend_that_dies_in_the_middle_says_what_to_do(
        self, database_url: str, tmp_path: Path
    ) -> None:
        file = written(tmp_path / "sums.jsonl", rows(200, start=50_000))
        with Backend(database_url, tmp_path) as backend:
            client = Reinforge(backend.url, OWNER_KEY, retries=0)

            def kill(done: int, total: int | None) -> None:
                if done == 2 * SMALL:
                    backend._server.should_exit = True
                    backend._thread.join()

            with pytest.raises(ServerUnreachable) as caught:
                client.datasets.push(file, in_parts=True, progress=kill)
        assert "push the same file again" in str(caught.value.hint)
        with Backend(database_url, tmp_path) as backend:
            progress: list[int] = []
            client = Reinforge(backend.url, OWNER_KEY, retries=0)
            made = client.datasets.push(file, in_parts=True, progress=lambda done, _: progress.append(done))
            assert (progress[0], made.rows) == (2 * SMALL, 200)

    def test_a_refused_file_says_where(self, client: Reinforge, tmp_path: Path) -> None:
        file = written(tmp_path / "bad.jsonl", rows(100, start=60_000) + b"{")
        with pytest.raises(InvalidInput) as caught:
            client.datasets.push(file, in_parts=True)
        assert (caught.value.code, caught.value.errors[0]["line"]) == ("truncated_json", 101)

    @pytest.mark.parametrize("in_parts", [False, True])
    def test_bad_rows_are_skipped_once(self, client: Reinforge, tmp_path: Path, in_parts: bool) -> None:
        bad = written(tmp_path / f"bad{in_parts}.jsonl", rows(20, start=61_000) + b'[]\n{"prompt": " "}\n')
        with pytest.raises(InvalidInput) as caught:
            client.datasets.push(bad, in_parts=in_parts)
        assert caught.value.faults == {"bad_rows": 2, "good_rows": 20, "skippable": True}
        assert [fault["line"] for fault in caught.value.errors] == [21, 22]
        dataset = client.datasets.push(bad, in_parts=in_parts, skip_bad_rows=True)
        assert dataset.skipped is not None
        assert (dataset.rows, dataset.skipped.lines) == (20, [21, 22])
        assert client.datasets.push(bad, in_parts=in_parts, skip_bad_rows=True).id == dataset.id


class TestBucket:
    @pytest.fixture(autouse=True)
    def parts_of_5_mib(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(numbered_parts, "PART_BYTES", LARGE)

    def test_parts_go_straight_to_the_bucket(
        self, on_s3: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(endpoints, "spool")  # a part that came through the server would fail
        file = written(tmp_path / "long.jsonl", long_rows(11 * 1024**2, 20))
        with Reinforge(on_s3.url, OWNER_KEY, retries=0) as client:
            assert client.datasets.push(file, in_parts=True).bytes == file.stat().st_size

    def test_where_the_bucket_cannot_be_reached_they_go_through_the_server(
        self, on_s3: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nowhere = PartUrl("http://127.0.0.1:9/bucket", {})
        numbers: list[int] = []

        def url(self: S3Parts, key: str, upload: str, number: int, **_: object) -> PartUrl:
            numbers.append(number)
            return nowhere

        monkeypatch.setattr(S3Parts, "url", url)
        file = written(tmp_path / "long.jsonl", long_rows(11 * 1024**2, 21))
        with Reinforge(on_s3.url, OWNER_KEY, retries=0) as client:
            assert client.datasets.push(file, in_parts=True).bytes == file.stat().st_size
        assert numbers == [1], "tried once, then known"


def test_a_killed_command_goes_on_where_it_stopped(backend: Backend, tmp_path: Path) -> None:
    file = written(tmp_path / "large.jsonl", long_rows(LARGE_BYTES + 1, 30))
    command = [sys.executable, "-m", "reinforge.cli.main", "dataset", "push", str(file)]
    environment = os.environ | {
        "REINFORGE_URL": backend.url,
        "REINFORGE_API_KEY": OWNER_KEY,
        "COLUMNS": "200",
    }
    first = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: 1 in part_ages(backend), "a first part", 60)
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(0.5)  # a part that was on its way ends
    parts = part_ages(backend)
    assert 1 <= len(parts) < 5
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    assert f"{len(parts) * 2**24 / 1e6:.1f} MB arrived earlier" in again.stderr, again.stderr
    assert again.stdout.startswith("file-")


@pytest.mark.long
def test_the_report_on_the_command_line(backend: Backend, tmp_path: Path) -> None:
    with Reinforge(backend.url, OWNER_KEY) as client:
        file = written(tmp_path / "twice.jsonl", rows(20, start=70_000) * 2)
        id = client.datasets.push(file).id
        report = client.datasets.report(id, held_out_rows=4, seed=1)
        assert report.duplicates is not None and report.duplicates.rows == 20
        assert report.leakage is not None and report.leakage.equal > 0
    environment = os.environ | {
        "REINFORGE_URL": backend.url,
        "REINFORGE_API_KEY": OWNER_KEY,
        "COLUMNS": "200",
    }
    command = [sys.executable, "-m", "reinforge.cli.main", "dataset", "report", id, "--held-out-rows", "4"]
    process = subprocess.run(
        [*command, "--seed", "1"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert process.returncode == 0, process.stderr
    assert "trained on as well" in process.stderr and "70000+1=" in process.stdout
    apart = subprocess.run(
        [*command, "--split-by", "prompt"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert "trained on as well" not in apart.stderr
