"""HTTP client of a vLLM server."""

import json
import math
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from worker.rollout.engine import FinishReason, GenerateRequest
from worker.rollout.noise import hash64

CONNECT_SECONDS = 10.0
LOAD_SECONDS = 120.0
SLEEP_SECONDS = 300.0
CONNECTIONS = 256
_NUMBERED = "token_id:"
_SEED_BITS = (1 << 62) - 1


class ServerLost(Exception):
    pass


class ServerRefused(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Piece:
    sample: int
    token_ids: list[int]
    logprobs: list[float]
    """Log-probabilities of the tokens; NaN if the server returned none."""
    finish_reason: FinishReason | None
    tops: list[list[tuple[int, float]]] = field(default_factory=list)
    """Most likely (token id, log-probability) pairs at each token, likeliest first."""


class Api:
    """Client of a vLLM server. Its methods raise ServerLost and ServerRefused.

    Completions have no timeout, since the server may queue them.
    """

    def __init__(self, socket: Path) -> None:
        self._client = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(
                uds=str(socket),
                # The server closes a connection that was idle for 5 s, as they are during an update: none is kept.
                limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=0),
            ),
            base_url="http://vllm",
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def healthy(self) -> bool:
        try:
            return (await self._client.get("/health", timeout=CONNECT_SECONDS)).status_code == 200
        except httpx.TransportError:
            return False

    async def version(self) -> str | None:
        try:
            answer = await self._client.get("/version", timeout=CONNECT_SECONDS)
            return str(answer.json()["version"]) if answer.is_success else None
        except httpx.HTTPError as error:
            raise ServerLost(str(error) or type(error).__name__) from error

    async def load(self, name: str, path: Path) -> None:
        body: dict[str, Any] = {"lora_name": name, "lora_path": str(path)}
        if has_fused_experts(path):
            body["is_3d_lora_weight"] = True
        # An adapter that it cannot use is status 500 too: whatever it answers, it is there.
        await self._post("/v1/load_lora_adapter", body, LOAD_SECONDS, refuses_from=300)

    async def unload(self, name: str) -> None:
        await self._post("/v1/unload_lora_adapter", {"lora_name": name}, CONNECT_SECONDS)

    async def sleep(self) -> None:
        """Move weights to main memory and drop the cache. No requests until `wake`."""
        await self._post("/sleep?level=1", None, SLEEP_SECONDS)

    async def release_cache(self) -> None:
        # Level 0 stops it and moves nothing.
        await self._post("/sleep?level=0", None, SLEEP_SECONDS)
        await self._post("/release_kv_cache_memory", None, SLEEP_SECONDS)

    async def wake(self, tag: str | None = None) -> None:
        answer = await self._post("/wake_up" + (f"?tags={tag}" if tag else ""), None, SLEEP_SECONDS)
        if answer["status"] != "awake":
            raise ServerLost(f"it does not wake up: {answer}")

    async def names(self) -> list[str]:
        try:
            answer = await self._client.get("/v1/models")
            return [model["id"] for model in answer.raise_for_status().json()["data"]]
        except httpx.HTTPError as error:
            raise ServerLost(str(error) or type(error).__name__) from error

    async def complete(self, body: dict[str, Any]) -> AsyncGenerator[Piece, None]:
        """Yield pieces; closing the generator aborts the request."""
        try:
            async with self._client.stream("POST", "/v1/completions", json=body) as answer:
                if answer.status_code != 200:
                    raise _fault(answer.status_code, await answer.aread())
                ended = False
                async for line in _lines(answer):
                    if line == b"data: [DONE]":
                        ended = True
                    elif line.startswith(b"data: "):
                        for piece in _pieces(json.loads(line[6:])):
                            yield piece
                if not ended:
                    raise ServerLost("the answer ended before it was complete")
        except httpx.HTTPError as error:
            raise ServerLost(str(error) or type(error).__name__) from error

    async def relay(self, body: dict[str, Any]) -> AsyncGenerator[httpx.Response | bytes, None]:
        """Yield the response to a completion request, then its content as it comes."""
        try:
            async with self._client.stream("POST", "/v1/completions", json=body) as answer:
                yield answer
                async for part in answer.aiter_bytes():
                    yield part
        except httpx.HTTPError as error:
            raise ServerLost(str(error) or type(error).__name__) from error

    async def score(self, model: str, token_ids: Sequence[int], first: int) -> list[float]:
        """Log-probabilities at temperature 1 of the tokens from index `first` ≥ 1 on."""
        body = {"model": model, "prompt": list(token_ids), "max_tokens": 1, "prompt_logprobs": 0}
        answer = await self._post("/v1/completions", body, None)
        places = answer["choices"][0]["prompt_logprobs"]
        return [
            float(places[place][str(token_ids[place])]["logprob"]) for place in range(first, len(token_ids))
        ]

    async def _post(
        self, path: str, body: dict[str, Any] | None, seconds: float | None, *, refuses_from: int = 600
    ) -> Any:
        try:
            answer = await self._client.post(
                path, json=body, timeout=self._client.timeout if seconds is None else seconds
            )
        except httpx.HTTPError as error:
            raise ServerLost(str(error) or type(error).__name__) from error
        if answer.status_code != 200:
            fault = _fault(answer.status_code, answer.content)
            raise ServerRefused(str(fault)) if answer.status_code >= refuses_from else fault
        return answer.json() if "application/json" in answer.headers.get("content-type", "") else None


def has_fused_experts(adapter: Path) -> bool:
    try:
        config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
        return bool(config.get("target_parameters"))
    except (OSError, ValueError, AttributeError):
        return False  # vLLM says what is wrong with it


def sampled(request: GenerateRequest) -> int:
    return request.n if request.sampling.temperature > 0 else 1


def completion(model: str, request: GenerateRequest) -> dict[str, Any]:
    sampling, noise = request.sampling, request.noise
    place = (noise.sample_no, noise.first_token) if noise.sample_no or noise.first_token else ()
    return {
        "model": model,
        "prompt": list(request.prompt_ids),
        "n": sampled(request),
        "max_tokens": request.most_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": int(hash64(noise.seed, noise.stream, noise.step, noise.prompt_no, *place)) & _SEED_BITS,
        "logprobs": 0,
        "return_token_ids": True,
        "stream": True,
        # What ends a completion is said by the request alone; the end stays in it.
        "ignore_eos": True,
        "stop_token_ids": list(sampling.stop_ids),
        "stop": list(sampling.stop),
        "include_stop_str_in_output": True,
        "skip_special_tokens": False,
    }


async def _lines(answer: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Split at LF only: text may contain other Unicode line ends."""
    rest = b""
    async for part in answer.aiter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line.rstrip(b"\r")


def _pieces(chunk: dict[str, Any]) -> list[Piece]:
    if "error" in chunk:
        raise ServerLost(str(chunk["error"].get("message", chunk["error"])))
    pieces = []
    for choice in chunk["choices"]:
        of_tokens = choice.get("logprobs") or {}
        token_logprobs, tops = of_tokens.get("token_logprobs") or [], of_tokens.get("top_logprobs") or []
        reason = choice.get("finish_reason")
        if reason not in (None, "stop", "length"):
            raise ServerLost(f"a completion ended with {reason!r}, expected stop or length")
        logprobs = [math.nan if value is None else float(value) for value in token_logprobs]
        ids = list(choice.get("token_ids") or [])
        pieces.append(Piece(choice["index"], ids, logprobs, reason, [_likeliest(top) for top in tops]))
    return pieces


def _likeliest(top: dict[str, float] | None) -> list[tuple[int, float]]:
    numbered = [
        (int(key.removeprefix(_NUMBERED)), value)
        for key, value in (top or {}).items()
        if key.startswith(_NUMBERED)
    ]
    return sorted(numbered, key=lambda pair: -pair[1])


def _fault(status: int, content: bytes) -> Exception:
    try:
        message = str(json.loads(content)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = content[:500].decode(errors="replace")
    return ServerRefused(message) if status < 500 else ServerLost(f"status {status}: {message}")
