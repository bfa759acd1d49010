"""Stands for vLLM's interpreter: `… -m vllm.entrypoints.openai.api_server --uds SOCKET …` serves the stub."""

import sys
from pathlib import Path

import uvicorn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.shared_hosts import StubVllm

if __name__ == "__main__":
    socket = sys.argv[sys.argv.index("--uds") + 1]
    uvicorn.run(StubVllm().app(), uds=socket, lifespan="off", log_config=None)
