"""An engine host in this process, over a stub that speaks vLLM's HTTP protocol."""

import asyncio
import json
import shutil
import struct
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from worker.engine_host.address import HostAddress, over_socket
from worker.engine_host.app import application
from worker.engine_host.host import EngineHost, HostLimits
from worker.engine_host.protocol import PROTOCOL, HostLease, LeaseRequest
from worker.rollout.vllm.api import Api
from worker.rollout.vllm.process import Stage

T = TypeVar("T")
SHA = "a" * 64
TOKENS = 4


class StubVllm:
    """vLLM's routes. A completion's tokens say which adapter made them: its serial number, 0 for the base."""

    def __init__(self) -> None:
        self.loaded: dict[str, str] = {}
        self.ever: list[str] = []
        self.refused: set[str] = set()
        """Tokens in the names of adapters that it does not take."""
        self.running: list[bool] = []
        self.mixed = False
        self.aborted = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.dies = False

    def app(self) -> ASGIApp:
        return Starlette(
            routes=[
                Route("/health", lambda _: Response()),
                Route("/v1/load_lora_adapter", self.load, methods=["POST"]),
                Route("/v1/unload_lora_adapter", self.unload, methods=["POST"]),
                Route("/v1/completions", self.complete, methods=["POST"]),
            ]
        )

    async def load(self, request: Request) -> Response:
        body = await request.json()
        name = body["lora_name"]
        if any(word in name for word in self.refused):
            return JSONResponse({"error": {"message": f"cannot use {name}"}}, 400)
        assert name not in self.ever or name not in self.loaded, "names are not reused"
        assert (Path(body["lora_path"]) / "adapter_config.json").is_file()
        self.loaded[name] = body["lora_path"]
        self.ever.append(name)
        return Response("Success")

    async def unload(self, request: Request) -> Response:
        name = (await request.json())["lora_name"]
        if self.loaded.pop(name, None) is None:
            return JSONResponse({"error": {"message": f"no {name}"}}, 404)
        return Response("Success")

    async def complete(self, request: Request) -> Response:
        body = await request.json()
        name = body["model"]
        if name != "base" and name not in self.loaded:
            return JSONResponse({"error": {"message": f"no model {name}"}}, 404)
        if "prompt_logprobs" in body:
            logprobs = [None, *({str(id): {"logprob": -0.5}} for id in body["prompt"][1:])]
            return JSONResponse({"choices": [{"prompt_logprobs": logprobs}]})
        token = 0 if name == "base" else 1 + self.ever.index(name)
        return StreamingResponse(self._pieces(token), media_type="text/event-stream")

    async def _pieces(self, token: int) -> AsyncIterator[bytes]:
        kind = token > 0
        self.running.append(kind)
        self.mixed = self.mixed or len(set(self.running)) > 1
        try:
            for number in range(TOKENS):
                await self.gate.wait()
                await asyncio.sleep(0.002)
                if self.dies:
                    raise ConnectionResetError
                reason = "length" if number == TOKENS - 1 else None
                choice = {"index": 0, "token_ids": [token], "finish_reason": reason}
                choice["logprobs"] = {"token_logprobs": [-0.5]}
                yield f"data: {json.dumps({'choices': [choice]})}\n\n".encode()
            yield b"data: [DONE]\n\n"
        except (asyncio.CancelledError, GeneratorExit):
            self.aborted += 1
            raise
        finally:
            self.running.remove(kind)


class StubServer:
    """`SamplerServer` whose vLLM is the stub."""

    def __init__(self, stub: StubVllm, failure: Exception | None, progress: Callable[[Stage], None]) -> None:
        self.stub, self.failure, self.progress = stub, failure, progress
        self.folder = Path(tempfile.mkdtemp(prefix="rf-stub-"))
        self.adapters, self.quiet_seconds = self.folder, 300.0
        self.stopped: Callable[[], bool] = lambda: False
        self.api: Api | None = None
        self.server = uvicorn.Server(_config(stub.app(), uds=str(self.folder / "v")))
        self.server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self.task: asyncio.Task[None] | None = None

    async def ready(self) -> Api:
        self.progress(Stage(1, 2, "starting"))
        if self.failure is not None:
            raise self.failure
        self.task = asyncio.create_task(self.server._serve())
        while not self.server.started:
            await asyncio.sleep(0.002)
        self.api = Api(self.folder / "v")
        return self.api

    async def close(self) -> None:
        if self.api is not None:
            await self.api.close()
        self.server.should_exit = self.server.force_exit = True
        if self.task is not None:
            await self.task
        shutil.rmtree(self.folder, ignore_errors=True)


class HostBench:
    """Runs the host in a thread, as clients of other processes meet it."""

    def __init__(self, *, device: str = "cpu", lease_seconds: float = 30.0, **listen: Any) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rf-bench-"))
        self.stubs: list[StubVllm] = []
        self.failure: Exception | None = None
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.token: str | None = listen.pop("token", None)
        self.run(self._open(device, lease_seconds, listen))
        self.address = over_socket(self.folder / "h")

    async def _open(self, device: str, lease_seconds: float, listen: dict[str, Any]) -> None:
        limits = HostLimits("0", "0.32.0", SHA, "float32", device, max_model_len=64, max_rank=8)

        def make(progress: Callable[[Stage], None]) -> StubServer:
            self.stubs.append(StubVllm())
            return StubServer(self.stubs[-1], self.failure, progress)

        self.adapters = self.folder / "adapters"
        self.host = EngineHost(limits, make, self.adapters, lease_seconds=lease_seconds, most_bytes=100_000)
        app = application(self.host, token=self.token)
        self.server = uvicorn.Server(_config(app, **(listen or {"uds": str(self.folder / "h")})))
        self.tasks = [asyncio.create_task(self.server._serve()), asyncio.create_task(self._watch())]
        while not self.server.started:
            await asyncio.sleep(0.002)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(0.02)
            await self.host.look()

    @property
    def port(self) -> int:
        return int(self.server.servers[0].sockets[0].getsockname()[1])

    @property
    def stub(self) -> StubVllm:
        return self.stubs[-1]

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def open(self) -> tuple[HostAddress, HostLease]:
        """The bench is a `HostSource`."""
        with self.address.client() as client:
            answer = client.post("/v1/leases", json=lease_request().model_dump())
        assert answer.status_code == 201, answer.text
        return self.address, HostLease.model_validate_json(answer.content)

    @property
    def name(self) -> str:
        return "the bench"

    def close(self) -> None:
        async def end() -> None:
            self.server.should_exit = self.server.force_exit = True
            await self.tasks[0]
            self.tasks[1].cancel()
            await asyncio.gather(self.tasks[1], return_exceptions=True)
            await self.host.close()
            await asyncio.get_running_loop().shutdown_default_executor()

        self.run(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def lease_request(**fields: Any) -> LeaseRequest:
    plain = {"protocol": PROTOCOL, "model_sha256": SHA, "dtype": "float32", "longest": 16, "rank": 4}
    return LeaseRequest.model_validate(plain | fields)


def adapter_files(rank: int = 4) -> tuple[bytes, bytes]:
    config = json.dumps({"r": rank, "peft_type": "LORA"}).encode()
    header = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return config, struct.pack("<Q", len(header)) + header + b"\0" * 4


def write_adapter(folder: Path, rank: int = 4) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config, weights = adapter_files(rank)
    (folder / "adapter_config.json").write_bytes(config)
    (folder / "adapter_model.safetensors").write_bytes(weights)
    return folder


def _config(app: ASGIApp, **where: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1, **where
    )
