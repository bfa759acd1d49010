"""A process that plays strangers: clients without an account, each with one way of being a nuisance.

    python -m attack.strangers PLAN.json OUT.json

Each client sends one request after another, or holds what it has half-sent until the server ends it, and waits
`think` seconds between two. It ends when its standard input does.
"""

import asyncio
import json
import random
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from attack.wire import Sender, head, report, until_deadline

MIB = 2**20
IDLE = 5
"""Connections that a client of the kind `idle` holds."""
_LARGE = b"[" + b"{}," * (MIB // 3)
_SMALL = b"[" + b"{}," * 20_000 + b"{}]"
_DEEP = b"[" * 30_000


class Stranger:
    def __init__(self, sender: Sender, number: int, think: float) -> None:
        self._sender, self._chance, self._think = sender, random.Random(number), think
        kinds = [
            self._large_body, self._large_sign_in, self._stalled_body, self._half_a_head, self._wrong_password,
            self._unknown_path, self._wrong_key, self._wrong_worker, self._deep, self._idle,
        ]  # fmt: skip
        self._act: Callable[[], Awaitable[object]] = kinds[number % len(kinds)]

    async def act(self) -> None:
        await asyncio.sleep(self._chance.random() * 2 * self._think)
        await self._act()

    def _post(
        self, path: str, body: bytes, announced: int | None = None, **headers: str
    ) -> tuple[bytes, bytes]:
        return head("POST", path, announced or len(body), **headers), body

    async def _large_body(self) -> None:
        path = self._chance.choice(
            ["/api/v1/jobs", "/worker/v1/workers", "/v1/fine_tuning/jobs", "/api/v1/sign-in"]
        )
        await self._sender.send("large body", *self._post(path, _LARGE, 24 * MIB))

    async def _large_sign_in(self) -> None:
        await self._sender.send("60 KB to sign-in", *self._post("/api/v1/sign-in", _SMALL))

    async def _stalled_body(self) -> None:
        await self._sender.send("stalled body", *self._post("/api/v1/sign-in", _SMALL[:1000], 60_000))

    async def _half_a_head(self) -> None:
        await self._sender.send("half a head", b"GET /api/v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\nx-")

    async def _wrong_password(self) -> None:
        name = self._chance.randbytes(8).hex()
        body = json.dumps({"email": f"{name}@example.org", "password": name * 2}).encode()
        await self._sender.send("wrong password", *self._post("/api/v1/sign-in", body))

    async def _unknown_path(self) -> None:
        name = self._chance.randbytes(6).hex()
        path = self._chance.choice(
            [f"/api/v1/{name}", f"/v1/{name}", f"/%2e%2e/{name}", f"/worker/v1/{name}"]
        )
        await self._sender.send("unknown path", head("GET", path))

    async def _wrong_key(self) -> None:
        headers = {"authorization": f"Bearer rf-{self._chance.randbytes(30).hex()}"}
        if self._chance.random() < 0.5:
            await self._sender.send("wrong key", head("GET", "/api/v1/jobs?limit=100", **headers))
        else:
            await self._sender.send("wrong key", *self._post("/api/v1/jobs", _SMALL, **headers))

    async def _wrong_worker(self) -> None:
        headers = {"authorization": f"Bearer {self._chance.randbytes(20).hex()}"}
        path = self._chance.choice(
            ["/worker/v1/jobs/claim", "/worker/v1/jobs/ftjob-1/records", "/worker/v1/calls/next"]
        )
        await self._sender.send("wrong worker token", *self._post(path, _SMALL, **headers))

    async def _deep(self) -> None:
        await self._sender.send("deep JSON", *self._post("/api/v1/sign-in", _DEEP))

    async def _idle(self) -> None:
        await asyncio.gather(*(self._sender.send("idle connection", hang_up=10.0) for _ in range(IDLE)))


async def attack(plan: dict[str, float], sender: Sender) -> None:
    clients = [Stranger(sender, number, plan["think"]) for number in range(int(plan["clients"]))]
    await until_deadline([client.act for client in clients])


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    sender = Sender(plan["port"])
    asyncio.run(attack(plan, sender))
    report(sys.argv[2], sender)


if __name__ == "__main__":
    main()
