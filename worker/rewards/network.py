"""Requests to external servers: allowed addresses, bounded replies, retries."""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential

from reinforge.net.outbound import AddressRefused, Guard, Target, Unresolved

T = TypeVar("T")

MAX_REPLY_BYTES = 1 << 20
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_CONNECT_SECONDS = 10.0


class NetworkLoop:
    """Event loop in its own thread: decoding blocks the trainer's loop for longer than timeouts allow."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Run a coroutine on the loop; cancelling the returned awaitable cancels it."""
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine from a thread without a loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


async def _cancel_others() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class RequestFailed(Exception):
    """Request without a usable answer. `kind`: refused, timeout, unreachable, status, too_large, encoded, redirect."""

    def __init__(self, kind: str, message: str, *, status: int | None = None, again: bool = False) -> None:
        super().__init__(message)
        self.kind, self.message, self.status = kind, message, status
        self.again = again
        self.wait: float | None = None


@dataclass(frozen=True, slots=True)
class Retries:
    count: int
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(
        self, attempt: Callable[[], Awaitable[T]], on_retry: Callable[[], None] = lambda: None
    ) -> T:
        """Result of the first attempt that works. Raises the last RequestFailed."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, RequestFailed) and error.again),
            stop=stop_after_attempt(self.count + 1),
            wait=_pause,
            before_sleep=lambda _: on_retry(),
            sleep=self.sleep,
            reraise=True,
        )

        async def run() -> T:  # tenacity awaits coroutine functions only, and `attempt` may be a lambda
            return await attempt()

        return await retrying(run)


_backoff = wait_exponential(_FIRST_PAUSE, max=_LONGEST_PAUSE)


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    wait = error.wait if isinstance(error, RequestFailed) else None
    return min(_LONGEST_PAUSE, max(_backoff(state) * random.uniform(0.75, 1.25), wait or 0.0))


def proxy_for(url: str) -> str | None:
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


@dataclass(frozen=True, slots=True)
class ServerReply:
    content: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Exchange:
    """whole: returns whether (content, headers) is a whole reply; reading then stops, even if the stream stays
    open.
    """

    body: bytes
    headers: dict[str, str]
    method: str = "POST"
    accept: str = "application/json"
    whole: Callable[[bytearray, Mapping[str, str]], bool] | None = None


class ServerClient:
    """HTTP client of a user's server. It does not follow redirects."""

    def __init__(self, url: str, guard: Guard | None, *, proxied: bool) -> None:
        self._url, self._guard = url, guard
        self._proxy = proxy_for(url) if proxied else None
        self._client = httpx.AsyncClient(
            follow_redirects=False,
            proxy=self._proxy,
            trust_env=False,
            verify=httpx.create_ssl_context(),  # with the certificates that the environment names
            timeout=None,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
        )

    async def post(self, body: bytes, headers: dict[str, str], *, seconds: float) -> bytes:
        return (await self.send(Exchange(body, headers), seconds=seconds)).content

    async def send(self, exchange: Exchange, *, seconds: float) -> ServerReply:
        """Try the server's addresses until one connects. Raises RequestFailed."""
        target = await self._target(seconds)
        if target is None:
            return await send(self._client, self._url, exchange, seconds=seconds)
        named = replace(exchange, headers=exchange.headers | {"host": target.host_header})
        server = {"sni_hostname": target.server_name}
        for url in target.urls[:-1]:
            try:
                return await send(self._client, url, named, seconds=seconds, extensions=server)
            except RequestFailed as error:
                if not isinstance(error.__cause__, httpx.ConnectError):  # it may have been heard
                    raise
        return await send(self._client, target.urls[-1], named, seconds=seconds, extensions=server)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _target(self, seconds: float) -> Target | None:
        if self._guard is None:
            return None
        if self._proxy is None:
            return await checked_target(self._guard, self._url, seconds)
        try:
            self._guard.check_for_proxy(self._url, self._proxy)
        except AddressRefused as error:
            raise RequestFailed("refused", str(error)) from error
        return None


async def checked_target(guard: Guard, url: str, seconds: float) -> Target:
    """Resolve a URL to allowed addresses. Raises RequestFailed."""
    try:
        async with asyncio.timeout(seconds):
            return await guard.target(url)
    except Unresolved as error:
        raise RequestFailed("unreachable", str(error), again=True) from error
    except AddressRefused as error:
        raise RequestFailed("refused", str(error)) from error
    except TimeoutError as error:
        raise RequestFailed(
            "timeout", f"the name was not resolved within {seconds:g} s", again=True
        ) from error


async def send(
    client: httpx.AsyncClient,
    url: str,
    exchange: Exchange,
    *,
    seconds: float,
    extensions: dict[str, Any] | None = None,
) -> ServerReply:
    """Send within `seconds` and receive MAX_REPLY_BYTES at most. Raises RequestFailed."""
    sent = {"content-type": "application/json", "accept": exchange.accept, "accept-encoding": "identity"}
    timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
    try:
        async with (
            asyncio.timeout(seconds),
            client.stream(
                exchange.method,
                url,
                content=exchange.body,
                headers=exchange.headers | sent,
                timeout=timeout,
                extensions=extensions or {},
            ) as answer,
        ):
            content = await _bounded(answer, exchange)
    except (TimeoutError, httpx.TimeoutException) as error:
        raise RequestFailed("timeout", f"no complete answer within {seconds:g} s", again=True) from error
    except httpx.HTTPError as error:
        what = str(error) or type(error).__name__
        raise RequestFailed("unreachable", f"the connection failed: {what[:300]}", again=True) from error
    except (httpx.InvalidURL, ValueError) as error:
        raise RequestFailed("unreachable", f"the address cannot be used: {error}") from error
    _check_status(answer, content)
    return ServerReply(content, answer.headers)


async def _bounded(answer: httpx.Response, exchange: Exchange) -> bytes:
    if answer.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise RequestFailed("encoded", "the answer is compressed, although the request allows no compression")
    content = bytearray()
    async for part in answer.aiter_raw():
        content += part
        if len(content) > MAX_REPLY_BYTES:
            raise RequestFailed("too_large", f"the answer has more than {MAX_REPLY_BYTES >> 20} MiB")
        if exchange.whole is not None and exchange.whole(content, answer.headers):
            break
    return bytes(content)


def _check_status(answer: httpx.Response, content: bytes) -> None:
    status = answer.status_code
    if 200 <= status < 300:
        return
    text = " ".join(content[:400].decode("utf-8", "replace").split())
    if 300 <= status < 400:
        raise RequestFailed(
            "redirect", f"the server answers {status}; redirects are not followed", status=status
        )
    error = RequestFailed(
        "status",
        f"the server answers {status}: {text or 'no text'}",
        status=status,
        again=status in _AGAIN,
    )
    after = answer.headers.get("retry-after", "")
    error.wait = float(after) if after.isdecimal() else None
    raise error
