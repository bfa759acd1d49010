"""A process that plays one hostile member: an editor of another project, who does what an editor may, too much of it.

    python -m attack.member PLAN.json OUT.json

plan: port, key, and what the member has: `models` (with hostile chat templates), `small` and `large` (datasets),
`job` (queued). It ends when its standard input does.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from attack.wire import Sender, head, report, until_deadline

MIB = 2**20
STREAMS = 300
SLEEP = "import time\ndef grade(sample, item):\n    time.sleep(59)\n    return 0.0\n"


def grader(text: str) -> dict[str, str]:
    source = {"type": "string_check", "name": "s", "input": text, "reference": "x", "operation": "eq"}
    return {"source": json.dumps(source)}


class Member:
    def __init__(self, plan: dict[str, Any], sender: Sender) -> None:
        self._plan, self._sender = plan, sender
        self._authorization = f"Bearer {plan['key']}"
        self._seed = 0
        rows = [{"completion": "a", "item": {}}] * 2
        self._slow_test = self._json({"source": SLEEP, "timeout_seconds": 60, "rows": rows})
        self._graders = [self._json(grader("{{" * 20_000)), self._json(grader("{{ item.a" * 7_000))]
        self._renders_of = [self._json({"model": model}) for model in plan["models"]]
        headers = {"content_type": "multipart/form-data; boundary=x", "content_length": str(50 * MIB)}
        self._form = head("POST", "/api/v1/datasets", authorization=self._authorization, **headers)
        self._large = b"[" + b"{}," * (8 * MIB // 3) + b"{}]"

    @property
    def work(self) -> list[Callable[[], Awaitable[None]]]:
        return [
            *[self._slow_tests] * 8, *[self._templates] * 4, *[self._rows] * 4, *[self._reports] * 20,
            *[self._renders] * 4, *[self._searches] * 8, *[self._stalled_upload] * 16, self._large_json,
            *[self._stream] * self._plan.get("streams", STREAMS),
        ]  # fmt: skip

    def _json(self, value: dict[str, Any]) -> bytes:
        return json.dumps(value).encode()

    async def _post(self, kind: str, path: str, body: bytes, hang_up: float = 90.0) -> None:
        start = head("POST", path, len(body), authorization=self._authorization)
        await self._answered(await self._sender.send(kind, start, body, hang_up=hang_up))

    async def _get(self, kind: str, path: str, hang_up: float = 90.0, most: int = 2**20) -> None:
        start = head("GET", path, authorization=self._authorization)
        await self._answered(await self._sender.send(kind, start, hang_up=hang_up, most=most))

    async def _answered(self, status: str) -> None:
        """A client that takes no notice of Retry-After, but does not spin either."""
        await asyncio.sleep(1.0 if status in ("429", "503", "closed") else 0.1)

    async def _slow_tests(self) -> None:
        await self._post("reward test, left after 3 s", "/api/v1/rewards/test", self._slow_test, hang_up=3.0)

    async def _templates(self) -> None:
        for body in self._graders:
            await self._post("grader of many braces", "/api/v1/rewards/check", body)

    async def _rows(self) -> None:
        path = f"/api/v1/datasets/{self._plan['large']}/rows?limit=200"
        await self._get("large rows", path, most=64 * MIB)

    async def _reports(self) -> None:
        self._seed += 1
        path = f"/api/v1/datasets/{self._plan['small']}/report?held_out_rows=2&seed={self._seed}&wait=0"
        await self._get("report", path)

    async def _renders(self) -> None:
        for body in self._renders_of:
            await self._post(
                "hostile template", f"/api/v1/datasets/{self._plan['small']}/render", body, hang_up=20.0
            )

    async def _searches(self) -> None:
        for path in (
            f"jobs/{self._plan['job']}/completions/search?q=%25a%25_b%20c",
            "jobs?q=%25%25_%25a&limit=100",
        ):
            await self._get("search", f"/api/v1/{path}")

    async def _stalled_upload(self) -> None:
        lines = [
            b"--x",
            b'content-disposition: form-data; name="file"; filename="a.jsonl"',
            b"",
            b"x" * 65_536,
        ]
        await self._sender.send("stalled upload", self._form, b"\r\n".join(lines), hang_up=30.0)

    async def _large_json(self) -> None:
        await self._post("JSON of 8 MiB", "/api/v1/jobs", self._large)
        await asyncio.sleep(1.0)

    async def _stream(self) -> None:
        await self._get("live stream", f"/api/v1/jobs/{self._plan['job']}/stream", hang_up=20.0, most=2**40)


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    sender = Sender(plan["port"])
    asyncio.run(until_deadline(Member(plan, sender).work))
    report(sys.argv[2], sender)


if __name__ == "__main__":
    main()
