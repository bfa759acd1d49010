"""`python -m worker.serving [--engine E]`: samples for the RPC worker that started it.

It speaks `worker.serving_client.protocol` and ends at EOF on its standard input.
"""

import argparse
import json
import os
import queue
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar

from reinforge import settings
from reinforge.system import logs
from reinforge.system.launch import RESULT_FD
from worker.serving.engine import Engine
from worker.serving.held import ADAPTERS
from worker.serving.server import ServingServer
from worker.serving.transformers import TransformersServing
from worker.serving.vllm import VllmServing
from worker.serving_client.protocol import Reply


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m worker.serving", description=__doc__)
    parser.add_argument("--threads", type=int, default=1, help="threads for arithmetic on the CPU")
    parser.add_argument("--adapters", type=int, default=ADAPTERS, help="most adapters in memory")
    parser.add_argument("--engine", choices=("transformers", "vllm"), default="transformers")
    parser.add_argument("--log", type=Path, default=None, help="file that vLLM's own log is added to")
    arguments = parser.parse_args()
    # The parent decides when it ends; ignore a Ctrl-C in the same terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    disable_progress_bar()
    if settings.log_format() == "json":
        logs.configure("serving")
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    torch.set_num_threads(arguments.threads)
    inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(inbox,), daemon=True).start()
    with os.fdopen(RESULT_FD, "wb", buffering=0) as out:

        def send(reply: Reply) -> None:
            line = reply.model_dump_json(exclude_defaults=True).encode() + b"\n"
            try:
                while line:
                    line = line[out.write(line) :]
            except BrokenPipeError:
                os._exit(0)

        ServingServer(inbox, send, _engine(arguments)).run()


def _engine(arguments: argparse.Namespace) -> Engine:
    if arguments.engine == "vllm":
        return VllmServing(adapters=arguments.adapters, threads=arguments.threads, log=arguments.log)
    return TransformersServing(adapters=arguments.adapters)


def _read(inbox: "queue.SimpleQueue[dict[str, Any]]") -> None:
    for line in sys.stdin.buffer:
        inbox.put(json.loads(line))
    os._exit(0)


if __name__ == "__main__":
    main()
