"""Every operation with a body, while one of its fields grows: no 5xx, and what it costs is explained by the body.

The bodies are the examples of the OpenAPI document. Time is CPU time of the process that answers, and of the client
beside it; what looks too slow is sent again and again, and the least counts.
"""

import copy
import ctypes
import gc
import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.access.body_limits import limit_of
from backend.site.openapi import EXAMPLES
from tests.backend.api_document import api_document
from tests.backend.server import WORKER_TOKEN, Backend
from tests.backend.tenancy import METHODS, PLACES, Operation, Stranger
from tests.fuzz.families import TOKENS

CHARACTERS = 60_000
FLOOR_SECONDS = 0.5
"""Some answers hash a password or look into every table; what this finds took seconds."""
MEMORY_BYTES = 96 << 20
"""What may stay of an operation's requests: pools, caches and what the allocator keeps."""
FORMS = {"createDataset", "createFile", "createUploadPart", "putDatasetUploadPart", "uploadAdapter"}
"""Bodies that are no JSON: `parsers.py` tries their reader."""
ASKS_A_MODEL = {"sample", "createChatCompletion"}
"""Would wait for a worker: they name a model that is not there."""
LAST = ("cancel", "delete", "remove", "revoke", "stop", "signOut", "end", "update", "rename", "transfer")

_examples: dict[str, dict[str, Any]] = json.loads(EXAMPLES.read_text(encoding="utf-8"))


def _with_body() -> list[Operation]:
    operations = [
        Operation(spec["operationId"], method, path, spec)
        for path, methods in api_document()["paths"].items()
        for method, spec in methods.items()
        if method in METHODS and "requestBody" in spec
    ]
    return sorted(operations, key=lambda operation: (operation.id.startswith(LAST), operation.path))


OPERATIONS = _with_body()


def test_every_body_has_an_example() -> None:
    missing = {operation.id for operation in OPERATIONS if "request" not in _examples.get(operation.id, {})}
    assert missing == FORMS - {"putDatasetUploadPart"}


@pytest.fixture(scope="module")
def stranger(backend: Backend) -> Iterator[Stranger]:
    with backend.rpc_worker() as rpc_worker:
        backend.register(rpc_worker.worker, "calls", answers=list(rpc_worker.answers))
        made = Stranger(backend)
        yield made
        made.api.close()
        made.us.close()


@pytest.mark.parametrize(
    "operation",
    [pytest.param(operation, id=operation.id) for operation in OPERATIONS if operation.id not in FORMS],
)
def test_a_growing_field_costs_what_it_weighs(stranger: Stranger, operation: Operation) -> None:
    example = _examples[operation.id]["request"]
    if operation.id in ASKS_A_MODEL:
        example = example | {"model": "nothing"}
    client = Sender(stranger, operation)
    client.seconds(json.dumps(example).encode())
    before, faults = _resident(), []
    for name, body in variants(example, operation.id):
        content = json.dumps(body).encode("utf-8", "replace")
        limit = limit_of(operation.method.upper(), operation.path).bytes
        if limit is not None and len(content) > limit:
            continue
        seconds = client.seconds(content)
        if seconds > FLOOR_SECONDS:
            seconds = min(seconds, *(client.seconds(content) for _ in range(3)))
        if seconds > FLOOR_SECONDS:
            faults.append(f"{name}: {seconds:.2f} s for {len(content):,} bytes")
    assert faults + client.faults == []
    assert _resident() - before < MEMORY_BYTES, "memory stays"


class Sender:
    def __init__(self, stranger: Stranger, operation: Operation) -> None:
        self.operation, self.faults = operation, list[str]()
        self._http = stranger.backend.bare
        places = {
            name: PLACES.get(name) or stranger.things.get(room, "none") for room, name in operation.params
        }
        self._url = stranger.backend.url + operation.path.format(**places)
        key = stranger.api.headers["authorization"]
        worker = operation.path.startswith("/worker/")
        self._headers = {
            "authorization": f"Bearer {WORKER_TOKEN}" if worker else key,
            "content-type": "application/json",
            "if-match": "*",
        }

    def seconds(self, content: bytes) -> float:
        """CPU time of one request; what must not be answered is noted."""
        began = time.process_time()
        answer = self._http.request(
            self.operation.method.upper(), self._url, content=content, headers=self._headers
        )
        took = time.process_time() - began
        if answer.status_code >= 500 and answer.status_code != 503:
            self.faults.append(f"{answer.status_code} {answer.text[:200]} to {content[:200]!r}")
        if len(answer.content) > 8 * len(content) + 65_536:
            self.faults.append(f"{len(answer.content):,} bytes answer {len(content):,}: {content[:200]!r}")
        return took


def variants(example: Any, id: str) -> Iterator[tuple[str, Any]]:
    """The body with one place grown, for all of its places."""
    for path, value in _places(example):
        for name, grown in _grown(value, f"{id}{path}"):
            yield f"{'.'.join(map(str, path)) or 'the body'} {name}", _put(example, path, grown)


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*path, key))
    elif isinstance(value, list) and value:
        yield from _places(value[0], (*path, 0))


def _grown(value: Any, chosen: str) -> Iterator[tuple[str, Any]]:
    token = TOKENS[zlib.crc32(chosen.encode()) % len(TOKENS)]
    if isinstance(value, dict):
        yield "with many keys", value | {f"k{n}": 1 for n in range(4000)}
        yield "with a long key", value | {token * (CHARACTERS // len(token)): 1}
    elif isinstance(value, list):
        yield "with many items", (value or [0]) * (CHARACTERS // len(json.dumps((value or [0])[0])))
        yield "with wrong items", [{}] * (CHARACTERS // 4)
    elif isinstance(value, str):
        yield f"of {token!r}", token * (CHARACTERS // len(token))
        yield "of braces", "{{" * (CHARACTERS // 2)
    else:
        yield "of digits", int("9" * 300)
    yield "nested", _nested(120)


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _put(example: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    made = copy.deepcopy(example)
    place = made
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return made


def _resident() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
