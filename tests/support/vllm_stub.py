"""A vLLM server that computes nothing: vLLM's HTTP protocol, as far as engines use it, on a Unix socket."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reinforge.errors import JobFailure
from worker.rollout.vllm.api import Api

MODULUS = 50021


class VllmStub:
    """Samples tokens that depend on seed, place and adapter folder. gate: waited for before each completion."""

    def __init__(self, socket: Path, *, version: str, refuses: Callable[[str], bool]) -> None:
        self.socket, self.version, self.refuses = socket, version, refuses
        self.adapters: dict[str, str] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.rows, self.most_rows, self.prompts = 0, 0, list[tuple[int, ...]]()
        self.served: set[tuple[int, ...]] = set()
        self._writers = set[asyncio.StreamWriter]()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._connected, str(self.socket))

    def kill(self) -> None:
        assert self._server is not None
        self._server.close()
        self.socket.unlink(missing_ok=True)
        for writer in self._writers:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method_and_path, *lines = head.splitlines()
            lengths = [line.split(":")[1] for line in lines if line.lower().startswith("content-length")]
            body = await reader.readexactly(int(lengths[0])) if lengths else b""
            await self._answer(method_and_path.split()[1], json.loads(body or b"{}"), writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, path: str, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if path == "/v1/completions":
            return await self._complete(body, writer)
        if path == "/v1/load_lora_adapter":
            if self.refuses(body["lora_name"]):
                return _write(writer, 500, {"error": {"message": "no such module"}})
            self.adapters[body["lora_name"]] = body["lora_path"]
        elif path == "/v1/unload_lora_adapter" and self.adapters.pop(body["lora_name"], None) is None:
            return _write(writer, 404, {"error": {"message": "not loaded"}})
        return _write(writer, 200, {"version": self.version} if path == "/version" else {})

    async def _complete(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        folder = "" if body["model"] == "base" else self.adapters[body["model"]]
        self.rows += body["n"]
        self.most_rows = max(self.most_rows, self.rows)
        self.prompts.append(tuple(body["prompt"]))
        _write(writer, 200, None)
        try:
            for place in range(body["max_tokens"]):
                reason = "length" if place == body["max_tokens"] - 1 else None
                for sample in range(body["n"]):
                    token = (body["seed"] + 31 * sample + 7 * place + len(folder)) % MODULUS
                    logprobs = {"token_logprobs": [-token / MODULUS]}
                    choice = {"index": sample, "token_ids": [token], "logprobs": logprobs}
                    _event(writer, json.dumps({"choices": [choice | {"finish_reason": reason}]}))
                await writer.drain()
                await self.gate.wait()
                await asyncio.sleep(0)
            _event(writer, "[DONE]")
            self.served.add(tuple(body["prompt"]))
        finally:
            self.rows -= body["n"]


class StubServer:
    """`SamplerServer` on a `VllmStub`, which may be restarted once."""

    def __init__(self, name: str, *, version: str = "0.32.0", start_error: JobFailure | None = None) -> None:
        self.name, self.version, self.start_error = name, version, start_error
        self.folder = Path(tempfile.mkdtemp(prefix="rf-stub-"))
        self.adapters = self.folder / "adapters"
        self.adapters.mkdir()
        self.stopped: Callable[[], bool] = lambda: False
        self.quiet_seconds = 5.0
        self.restarting = asyncio.Event()
        self.restarting.set()
        self.refuses: Callable[[str], bool] = lambda name: False
        self.stubs: list[VllmStub] = []
        self.restarts, self.rests = 0, 0
        self._api: Api | None = None

    @property
    def stub(self) -> VllmStub:
        return self.stubs[-1]

    async def ready(self) -> Api:
        if self._api is None:
            await asyncio.sleep(0.01)
            if self.start_error is not None:
                raise self.start_error
            socket = self.folder / f"{len(self.stubs)}.sock"
            self.stubs.append(VllmStub(socket, version=self.version, refuses=lambda n: self.refuses(n)))
            await self.stub.start()
            self._api = Api(socket)
        return self._api

    async def awake(self) -> Api:
        return await self.ready()

    async def rest(self) -> None:
        self.rests += 1

    async def restart(self, why: str) -> Api:
        await self._end()
        if self.restarts:
            raise JobFailure(f"vLLM failed again after a restart: {why}", code="vllm_lost", hint="")
        self.restarts += 1
        await self.restarting.wait()
        return await self.ready()

    def refusal(self, what: str, why: str) -> JobFailure:
        return JobFailure(f"vLLM does not take {what}: {why}", code="vllm_refused", hint="")

    async def close(self) -> None:
        await self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def _end(self) -> None:
        if self._api is not None:
            self.stub.kill()
            await self._api.close()
            self._api = None


def _write(writer: asyncio.StreamWriter, status: int, body: dict[str, Any] | None) -> None:
    """Write an answer; without a body, the head of a stream that ends with the connection."""
    kind = "text/event-stream" if body is None else "application/json"
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + (b"" if body is None else json.dumps(body).encode()))


def _event(writer: asyncio.StreamWriter, data: str) -> None:
    writer.write(f"data: {data}\n\n".encode())
