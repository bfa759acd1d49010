"""A session with an OpenEnv server: one environment, reset and stepped by messages over a WebSocket."""

import asyncio
import json
import math
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from reinforge.net.outbound import Guard
from reinforge.parsing.json_depth import is_deeper
from worker.rewards.network import MAX_REPLY_BYTES, RequestFailed, checked_target

MAX_DEPTH = 64
_CLOSE_SECONDS = 1.0
_TOO_LARGE = 1009
"""WebSocket close code for a message that is too large."""


class OpenEnvError(Exception):
    """An error that the server returned; the protocol defines `code`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class OpenEnvMalformed(Exception):
    """An answer that does not follow the protocol."""


@dataclass(frozen=True, slots=True)
class EnvironmentObservation:
    fields: dict[str, Any]
    reward: float | None
    done: bool


@dataclass(frozen=True, slots=True)
class SessionAddress:
    """url: with http or https. guard: checks whether the address may be contacted; None under `reinforge train`."""

    url: str
    guard: Guard | None
    tls: ssl.SSLContext = field(default_factory=httpx.create_ssl_context)

    async def connect(self, headers: Mapping[str, str], *, seconds: float) -> ClientConnection:
        try:
            async with asyncio.timeout(seconds):
                return await self._connect(headers, seconds)
        except TimeoutError as error:
            raise RequestFailed("timeout", f"no connection within {seconds:g} s") from error
        except InvalidStatus as error:
            raise _refusal(error) from error
        except (WebSocketException, OSError, ValueError) as error:
            what = str(error) or type(error).__name__
            raise RequestFailed("unreachable", f"the connection failed: {what[:300]}") from error

    async def _connect(self, headers: Mapping[str, str], seconds: float) -> ClientConnection:
        parts = urlsplit(self.url)
        secure = parts.scheme == "https"
        uri = urlunsplit(("wss" if secure else "ws", *parts[1:4], ""))
        options: dict[str, Any] = {"ssl": self.tls} if secure else {}
        places: list[dict[str, Any]] = [{}]
        if self.guard is not None:
            target = await checked_target(self.guard, self.url, seconds)
            checked = map(urlsplit, target.urls)
            places = [{"host": address.hostname, "port": address.port} for address in checked]
        for place in places[:-1]:
            with suppress(OSError):
                return await self._open(uri, headers, options | place)
        return await self._open(uri, headers, options | places[-1])

    async def _open(
        self, uri: str, headers: Mapping[str, str], options: Mapping[str, Any]
    ) -> ClientConnection:
        return await _Connect(
            uri,
            additional_headers=dict(headers),
            user_agent_header=None,
            compression=None,
            proxy=None,
            open_timeout=None,
            ping_timeout=None,  # a step may keep the server busy for longer
            close_timeout=_CLOSE_SECONDS,
            max_size=MAX_REPLY_BYTES,
            **options,
        )


class _Connect(connect):
    """Connection that follows no redirects: only the first address was checked."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


class OpenEnvSession:
    """A session, for one request at a time. Close it after a failed request: the answer could
    arrive later.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @classmethod
    async def open(cls, address: SessionAddress, headers: Mapping[str, str], *, seconds: float) -> Self:
        """Open a session. Raises RequestFailed."""
        return cls(await address.connect(headers, seconds=seconds))

    async def reset(self, data: Mapping[str, Any], *, seconds: float) -> EnvironmentObservation:
        """Reset the environment. Raises RequestFailed, OpenEnvError, OpenEnvMalformed."""
        return await self._ask("reset", data, seconds)

    async def step(self, action: Mapping[str, Any], *, seconds: float) -> EnvironmentObservation:
        return await self._ask("step", action, seconds)

    async def close(self) -> None:
        """Close the session. Never raises."""
        with suppress(Exception):
            async with asyncio.timeout(2 * _CLOSE_SECONDS):
                await self._socket.send(json.dumps({"type": "close"}))
                await self._socket.close()

    async def _ask(self, kind: str, data: Mapping[str, Any], seconds: float) -> EnvironmentObservation:
        try:
            async with asyncio.timeout(seconds):
                with suppress(ConnectionClosed):  # what the server sent before it closed can still be read
                    await self._socket.send(json.dumps({"type": kind, "data": dict(data)}))
                answer = await self._socket.recv()
        except TimeoutError as error:
            raise RequestFailed("timeout", f"no whole answer within {seconds:g} s") from error
        except ConnectionClosed as error:
            if error.sent is not None and error.sent.code == _TOO_LARGE:
                message = f"the answer has more than {MAX_REPLY_BYTES >> 20} MiB"
                raise RequestFailed("too_large", message) from error
            raise RequestFailed("unreachable", f"the session ended: {str(error)[:300]}") from error
        return observation_of(answer)


def endpoint(url: str, name: str) -> str:
    """URL of `/schema` or `/ws` under the server's URL."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{name}"))


def observation_of(answer: str | bytes) -> EnvironmentObservation:
    message = _message(answer)
    kind, data = message.get("type"), message.get("data")
    if kind == "error" and isinstance(data, dict):
        raise OpenEnvError(str(data.get("code"))[:40], _explanation(data))
    if kind != "observation" or not isinstance(data, dict) or not isinstance(data.get("observation"), dict):
        raise malformed("is not an observation", answer)
    reward, done = data.get("reward"), data.get("done", False)
    if not isinstance(done, bool) or not (reward is None or _is_finite(reward)):
        raise malformed(
            "has a `reward` that is not a finite number, or a `done` that is not true or false", answer
        )
    fields = {name: value for name, value in data["observation"].items() if name != "metadata"}
    return EnvironmentObservation(fields, None if reward is None else float(reward), done)


def malformed(why: str, answer: str | bytes) -> OpenEnvMalformed:
    text = answer if isinstance(answer, str) else answer[:200].decode("utf-8", "replace")
    return OpenEnvMalformed(f"the server's answer {why}: {text[:200]!r}")


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """Parse a JSON object. None for other or invalid JSON, NaN, infinity, or more than MAX_DEPTH levels."""
    try:
        value = json.loads(text, parse_constant=_refused_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not is_deeper(value, MAX_DEPTH) else None


def _message(answer: str | bytes) -> dict[str, Any]:
    message = json_object(answer) if isinstance(answer, str) else None
    if message is None:
        raise malformed("is not a JSON object", answer)
    return message


def _refused_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


def _is_finite(reward: Any) -> bool:
    try:
        return isinstance(reward, bool | int | float) and math.isfinite(float(reward))
    except OverflowError:
        return False


def _explanation(data: Mapping[str, Any]) -> str:
    """Message of an error, with the invalid fields of the action."""
    errors = data.get("errors")
    lines = [str(data.get("message") or "no message")]
    for error in errors[:5] if isinstance(errors, list) else []:
        if isinstance(error, dict) and isinstance(error.get("loc"), list):
            lines.append(f"{'.'.join(map(str, error['loc']))}: {error.get('msg')}")
    return "; ".join(lines)[:1000]


def _refusal(error: InvalidStatus) -> RequestFailed:
    status = error.response.status_code
    if 300 <= status < 400:
        message = f"the server answers {status}; redirects are not followed"
        return RequestFailed("redirect", message, status=status)
    return RequestFailed("status", f"the server answers {status} to a WebSocket request", status=status)
