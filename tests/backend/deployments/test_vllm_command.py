"""The vLLM command of the page, run as printed with a real vLLM."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from backend.deployments.vllm import command
from backend.models import BaseModel
from worker.machine.vllm_python import vllm_missing, vllm_python
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.starter import CHECKPOINT


@pytest.mark.vllm
@pytest.mark.timeout(900)
def test_a_chat_request_is_answered_by_the_adapter(tmp_path: Path) -> None:
    python = vllm_python()
    if python is None:
        pytest.fail(f"`make vllm` installs what this needs: {vllm_missing()}")
    vllm = command("sums", BaseModel(id="starter-arith", source="builtin:starter-arith"), 4, adapter=True)
    # What its notes ask for: the folders lie where it is run.
    shutil.copytree(CHECKPOINT, tmp_path / "starter-arith")
    policy = LocalHost(load_base_model(CHECKPOINT)).create_policy(
        "policy", rank=4, alpha=8, targets="all-linear", seed=0
    )
    policy.export(tmp_path / "sums", base_model="starter-arith")
    program, verb, model, *options = shlex.split(vllm.command)
    assert (program, verb) == ("vllm", "serve")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    # The CPU build has no command `vllm`; the module takes the same options.
    here = ["--host", "127.0.0.1", "--port", port, "--enforce-eager"]
    spelled = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", model, *options, *here]
    environment = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # one process fewer that imports vLLM
    }
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            spelled,
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=os.environ | environment | {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"},
        )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(url, server, tmp_path / "log")
        names = [entry["id"] for entry in httpx.get(f"{url}/v1/models", timeout=60).json()["data"]]
        assert names == ["./starter-arith", "sums"]
        body = {"model": "sums", "messages": [{"role": "user", "content": "12 + 34"}], "max_tokens": 24}
        answer = httpx.post(f"{url}/v1/chat/completions", json=body | {"temperature": 0}, timeout=300).json()
        assert answer["model"] == "sums" and answer["choices"][0]["message"]["content"].strip()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def wait_for(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    while True:
        assert server.poll() is None, log.read_text(errors="replace")[-3000:]
        try:
            if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.3)
