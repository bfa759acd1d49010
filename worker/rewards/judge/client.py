"""Client of a judge's chat completions endpoint."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from reinforge.grading.types import SamplingParams
from reinforge.net.outbound import Guard
from reinforge.reward_spec.judges import Judge
from worker.rewards.judge.cache import JudgeCache, cache_key
from worker.rewards.judge.ledger import JudgeUsage, Ledger
from worker.rewards.judge.replies import JudgeFailed, ReplyForm, parse_completion, parse_reply
from worker.rewards.network import RequestFailed, Retries, ServerClient

_MOST_TOKENS = 1_000_000_000
_MILLION = 1_000_000
_BUDGET_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    reply: dict[str, Any]
    usage: JudgeUsage


@dataclass
class JudgeClient:
    """Calls one judge, with cache and retries.

    guard: restricts the judge's address; None if this process's user configured the judge.
    """

    name: str
    judge: Judge
    key: str | None
    cache: JudgeCache
    ledger: Ledger
    guard: Guard | None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _under_way: dict[str, asyncio.Task[JudgeAnswer]] = field(default_factory=dict)
    _places: asyncio.Semaphore = field(init=False)
    _client: ServerClient | None = None

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.judge.concurrency)

    async def ask(
        self, messages: list[dict[str, Any]], form: ReplyForm, params: SamplingParams
    ) -> JudgeAnswer:
        """Query the judge; equal concurrent questions share one request. Raises JudgeFailed, or JobFailure
        `judge_budget` if the budget is spent.
        """
        body = self._body(messages, form, params)
        key = cache_key(self.judge.base_url, body)
        if (stored := self.cache.get(key)) is not None:
            answer = JudgeAnswer(json.loads(stored), JudgeUsage(from_cache=True))
            self.ledger.add(self.name, answer.usage)
            return answer
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.create_task(self._fetch(key, body, form))
            self._under_way[key] = task
            task.add_done_callback(lambda task: self._done(key, task))
        elif not task.done():
            answer = await asyncio.shield(task)
            usage = JudgeUsage(from_cache=True)
            self.ledger.add(self.name, usage)
            return JudgeAnswer(answer.reply, usage)
        return await asyncio.shield(task)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _done(self, key: str, task: asyncio.Task[JudgeAnswer]) -> None:
        self._under_way.pop(key, None)
        if not task.cancelled():
            task.exception()  # retrieved, because the caller may be gone, for example after `judge_budget`

    async def _fetch(self, key: str, body: dict[str, Any], form: ReplyForm) -> JudgeAnswer:
        usage = JudgeUsage()
        try:
            async with self._places, self._paid():
                completion = parse_completion(await self._post(body))
                usage = self._usage(completion.usage)
                self.ledger.add(self.name, usage)  # paid for, even if the reply is unusable
            reply = parse_reply(completion.content(), form)
        except (RequestFailed, JudgeFailed) as error:
            self.ledger.failed()
            raise self._failed(error, usage) from error
        self.cache.put(key, json.dumps(reply, ensure_ascii=False))
        return JudgeAnswer(reply, usage)

    @asynccontextmanager
    async def _paid(self) -> AsyncIterator[None]:
        while not self.ledger.admit(self.name):
            await asyncio.sleep(_BUDGET_PAUSE_SECONDS)
        try:
            yield
        finally:
            self.ledger.settle(self.name)

    async def _post(self, body: dict[str, Any]) -> bytes:
        judge = self.judge
        if self._client is None:
            self._client = ServerClient(f"{judge.base_url}/chat/completions", self.guard, proxied=True)
        client = self._client
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return await Retries(judge.retries, self.sleep).run(
            lambda: client.post(content, headers, seconds=judge.timeout_seconds), self.ledger.retried
        )

    def _body(
        self, messages: list[dict[str, Any]], form: ReplyForm, params: SamplingParams
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.judge.model, "messages": messages}
        options = params.model_dump(exclude_none=True)
        if (longest := options.pop("max_completions_tokens", None)) is not None:
            body["max_completion_tokens"] = longest
        body |= options
        structured = self.judge.structured
        if structured == "json_schema":
            schema = {"name": "judgement", "strict": True, "schema": form.json_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        else:
            body["messages"] = [*messages, {"role": "system", "content": form.instruction}]
            if structured == "json_object":
                body["response_format"] = {"type": "json_object"}
        return body

    def _usage(self, counts: dict[str, Any]) -> JudgeUsage:
        prompt, completion = _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")
        details = counts.get("prompt_tokens_details")
        cost = (prompt * self.judge.input_price + completion * self.judge.output_price) / _MILLION
        return JudgeUsage(
            prompt, completion, _count(details if isinstance(details, dict) else {}, "cached_tokens"), cost
        )

    def _failed(self, error: RequestFailed | JudgeFailed, usage: JudgeUsage) -> JudgeFailed:
        """The error without the judge's API key, which some servers quote."""
        message = error.message.replace(self.key, "…") if self.key else error.message
        code = error.code if isinstance(error, JudgeFailed) else _code(error)
        paid = usage.as_dict() if usage != JudgeUsage() else {}
        return JudgeFailed(code, f"{self.name}: {message}", paid)


def _code(error: RequestFailed) -> str:
    if error.kind == "status":
        theirs = error.status is None or error.status >= 500 or error.status == 429
        return "judge_server_error" if theirs else "judge_refused_request"
    if error.kind == "refused":
        return "judge_not_allowed"
    return (
        f"judge_{error.kind}" if error.kind in ("timeout", "unreachable", "too_large") else "judge_malformed"
    )


def _count(counts: dict[str, Any], name: str) -> int:
    value = counts.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return 0
    if value > _MOST_TOKENS:
        raise JudgeFailed("judge_malformed", f"usage.{name} says more than {_MOST_TOKENS:,} tokens")
    return value
