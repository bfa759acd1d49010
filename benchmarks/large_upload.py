"""A dataset of the largest size that the server takes, sent in parts as our SDK and as OpenAI's uploads send them.

Measured are the seconds of sending and of the check that follows, CPU time beside the check's limit, and memory of the
API process and of the child that reads the file. Rows have about 230 bytes, so that their number is near its limit,
too: more rows cost more time than more bytes. The file, the database and the store are removed at the end; meanwhile
they take five times the size on disk.
"""

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from common.backend import KEY, Backend
from common.cpu import Account
from common.measure import parser, stamp, table, write
from dataset_memory import Memory

from reinforge.client import Reinforge
from reinforge.dataset.limits import DatasetLimits, inspection_seconds

MB = 1_000_000
OPENAI_PART = 64 * 1024**2
MOST_GROWTH_MB = 300
"""Of the API process and the child, each: nothing near the size of the file."""


def write_rows(path: Path, size: int) -> int:
    """Write rows of JSONL that differ, up to `size` bytes; returns how many."""
    text = "A train leaves the station, and another one follows it an hour later. How far are they apart at "
    rows = written = 0
    with path.open("wb") as file:
        while True:
            line = (
                f'{{"messages": [{{"role": "user", "content": "{rows}: {text}{rows % 24}:00?"}}],'
                f' "answer": "{rows % 1000}", "source": "made for a measurement of uploads"}}\n'
            ).encode()
            if written + len(line) > size:
                return rows
            file.write(line)
            written, rows = written + len(line), rows + 1


def send_natively(url: str, key: str, path: Path) -> tuple[int, float, float]:
    """Rows of the dataset, seconds of sending, seconds of the check: numbered parts, by the SDK."""
    arrived: list[float] = []

    def note(done: int, total: int | None) -> None:
        if done == total:
            arrived.append(time.perf_counter())

    with Reinforge(url, key) as client:
        began = time.perf_counter()
        made = client.datasets.push(path, reuse=False, in_parts=True, progress=note)
    return made.rows, arrived[0] - began, time.perf_counter() - arrived[0]


def send_as_openai(url: str, key: str, path: Path) -> tuple[int, float, float]:
    """The same by `/v1/uploads`, with the file's MD5."""
    size, patience = path.stat().st_size, 3600 + inspection_seconds(path.stat().st_size)
    with httpx.Client(base_url=f"{url}/v1", headers={"authorization": f"Bearer {key}"}, timeout=60) as wire:
        began = time.perf_counter()
        body = {
            "filename": path.name,
            "bytes": size,
            "purpose": "fine-tune",
            "mime_type": "application/jsonl",
        }
        upload = _checked(wire.post("/uploads", json=body))["id"]
        parts, digest = [], hashlib.md5(usedforsecurity=False)
        for data in _pieces(path):
            digest.update(data)
            answer = wire.post(f"/uploads/{upload}/parts", files={"data": ("part", data)})
            parts.append(_checked(answer)["id"])
        sent = time.perf_counter()
        body = {"part_ids": parts, "md5": digest.hexdigest()}
        made = _checked(wire.post(f"/uploads/{upload}/complete", json=body, timeout=patience))
        seconds = time.perf_counter() - sent
        rows = wire.get(f"{url}/api/v1/datasets/{made['file']['id']}").json()["rows"]
    return int(rows), sent - began, seconds


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(OPENAI_PART):
            yield data


def _checked(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, f"{answer.status_code} {answer.text[:500]}"
    body: dict[str, Any] = answer.json()
    return body


WAYS: dict[str, Callable[[str, str, Path], tuple[int, float, float]]] = {
    "numbered parts (SDK)": send_natively,
    "/v1/uploads (OpenAI)": send_as_openai,
}


def measure(backend: Backend, way: str, path: Path) -> dict[str, Any]:
    api = backend.pids["api"]
    memory = Memory([api])
    idle = memory.now() / MB
    memory.by_process.clear()
    memory.start()
    account = Account({"api": api})
    rows, sending, check = WAYS[way](backend.url, KEY, path)
    memory.stop()
    child = next((most for name, most in memory.by_process.items() if "inspect" in name), 0.0)
    size = path.stat().st_size
    return {
        "way": way,
        "bytes": size,
        "rows": rows,
        "sending_seconds": round(sending, 1),
        "check_seconds": round(check, 1),
        "check_limit_seconds": round(inspection_seconds(size)),
        "cpu_seconds": round(account.seconds()["api"], 1),
        "api_growth_mb": round(memory.by_process.get("backend", idle) - idle, 1),
        "child_mb": round(child, 1),
    }


def faults(case: dict[str, Any], rows: int) -> Iterator[str]:
    """What does not hold in one case."""
    if case["rows"] != rows:
        yield f"{case['way']}: {case['rows']} of {rows} rows"
    if case["cpu_seconds"] > case["check_limit_seconds"]:
        yield f"{case['way']}: it took {case['cpu_seconds']} s of CPU time"
    for name in ("api_growth_mb", "child_mb"):
        if case[name] > MOST_GROWTH_MB:
            yield f"{case['way']}: {name} is {case[name]}"


def main() -> int:
    options = parser(__doc__ or "")
    options.add_argument("--bytes", type=int, default=DatasetLimits().max_bytes, help="size of the file")
    arguments = options.parse_args()
    size = 100 * MB if arguments.quick else arguments.bytes
    result = stamp("fastapi", "uvicorn", "httpx")
    with Backend() as backend, tempfile.TemporaryDirectory(prefix="rf-upload-") as folder:
        path = Path(folder) / "rows.jsonl"
        rows = write_rows(path, size)
        cases = [measure(backend, way, path) for way in WAYS]
    result["cases"] = cases
    problems = [fault for case in cases for fault in faults(case, rows)]
    result["holds"] = not problems
    table(list(cases[0]), [list(case.values()) for case in cases])
    write("large_upload", result)
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    raise SystemExit(main())
