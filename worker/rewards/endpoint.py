"""Rewards from a user's server (docs/rewards.md).

A request's id depends only on the scored content, so a server recognises a retry.
"""

import asyncio
import hashlib
import json
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reinforge.grading.types import EndpointGrader
from reinforge.net.outbound import Guard
from reinforge.net.webhook_signature import signed_headers
from worker.rewards.base import RewardResult
from worker.rewards.network import NetworkLoop, RequestFailed, Retries, ServerClient
from worker.rewards.rater import Rater, RewardInput, failed, ok, side_by_side

CONCURRENCY = 8
MAX_PARTS = 16
TEXT_CHARACTERS = 2000


@dataclass
class EndpointRater(Rater):
    grader: EndpointGrader
    network: NetworkLoop
    guard: Guard
    secret: str | None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        return await self.network.run(self._all(rows))

    async def _all(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        places = asyncio.Semaphore(CONCURRENCY)
        client = ServerClient(self.grader.url, self.guard, proxied=False)
        try:
            return await side_by_side([self._row(client, places, row) for row in rows])
        finally:
            await client.aclose()

    async def _row(self, client: ServerClient, places: asyncio.Semaphore, row: RewardInput) -> RewardResult:
        async with places:
            began = time.monotonic()
            try:
                result = self._result(await self._post(client, row))
            except RequestFailed as error:
                result = failed("endpoint_error", f"endpoint_{error.kind}", error.message)
            return replace(result, wall_ms=1000 * (time.monotonic() - began))

    async def _post(self, client: ServerClient, row: RewardInput) -> bytes:
        content = {"item": row.item, "sample": row.sample, "prompt": row.scorable.prompt}
        text = json.dumps(content, ensure_ascii=False, default=str, sort_keys=True)
        id = "grd_" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
        body = json.dumps({"id": id, **content}, ensure_ascii=False, default=str).encode("utf-8", "replace")

        async def attempt() -> bytes:
            signed = {} if self.secret is None else signed_headers(self.secret, id, body)
            return await client.post(body, self.grader.headers | signed, seconds=self.grader.timeout_s)

        return await Retries(self.grader.retries, self.sleep).run(attempt)

    def _result(self, content: bytes) -> RewardResult:
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or "score" not in answer:
            excerpt = content[:200].decode("utf-8", "replace")
            return _malformed(f"the answer is not a JSON object with a score: {excerpt!r}")
        reason = answer.get("reason")
        about: dict[str, Any] = {"reason": str(reason)[:TEXT_CHARACTERS] if reason is not None else None}
        if answer["score"] is None:
            return RewardResult(name="", status="not_applicable", value=None, **about)
        score, parts = _number(answer["score"]), answer.get("parts") or {}
        if score is None:
            return _malformed(f"score is not a finite number: {answer['score']!r:.100}")
        if not isinstance(parts, dict) or len(parts) > MAX_PARTS:
            return _malformed(f"parts is not an object of at most {MAX_PARTS} numbers")
        numbers = {str(key)[:64]: _number(value) for key, value in parts.items()}
        if None in numbers.values():
            return _malformed("parts has values that are not finite numbers")
        low, high = self.grader.range or (-math.inf, math.inf)
        result = {key: value for key, value in numbers.items() if value is not None}
        return ok(min(high, max(low, score)), parts=result, **about)


def _malformed(message: str) -> RewardResult:
    return failed("endpoint_error", "endpoint_malformed", message)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float):
        return None
    try:
        result = float(value)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None
