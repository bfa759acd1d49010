"""`python -m worker.engine_host`: one vLLM server for several jobs, the playground, evaluations and deployments.

--listen HOST:PORT --certificate F --key F --token-file F --model DIR    for workers on other machines
--plan F --folder DIR                                                    started by a worker for its own machine
"""

import argparse
import asyncio
import logging
import sys
from pathlib import Path

from reinforge.errors import InvalidInput, ReinforgeError
from reinforge.system import logs
from worker.engine_host.client.local import HELD, LOG, LORAS, plan_options
from worker.engine_host.run import HostListener, HostPlan, serve_local, serve_remote
from worker.machine.gpus import gpu_present
from worker.machine.sampler_url import is_loopback
from worker.machine.vllm_python import vllm_missing, vllm_python, vllm_version
from worker.models.sources import model_store
from worker.rollout.vllm.options import Options
from worker.settings import read_settings

LEAST_TOKEN = 16


def main() -> None:
    arguments = _parser().parse_args()
    logs.configure("engine-host")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        if arguments.plan is not None:
            plan = _local_plan(arguments)
            asyncio.run(serve_local(plan, arguments.folder, arguments.idle_seconds))
        else:
            asyncio.run(serve_remote(_remote_plan(arguments), listener(arguments)))
    except ReinforgeError as error:
        sys.exit(f"{error.message} {error.hint or ''}".strip())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m worker.engine_host",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    remote = parser.add_argument_group("for workers on other machines")
    remote.add_argument("--listen", metavar="HOST:PORT")
    remote.add_argument("--certificate", type=Path, help="certificate chain, PEM")
    remote.add_argument("--key", type=Path, help="its private key, PEM")
    remote.add_argument("--token-file", type=Path, help="file with the token that clients send")
    remote.add_argument("--model", type=Path, help="folder of the base model")
    remote.add_argument(
        "--max-tokens", type=int, default=4096, help="most tokens of a prompt and its completion"
    )
    remote.add_argument("--max-rank", type=int, default=64, help="highest rank of an adapter")
    remote.add_argument("--gpu-memory", type=float, default=0.9, help="vLLM's share of each GPU")
    remote.add_argument("--threads", type=int, default=1, help="CPU threads, without a GPU")
    local = parser.add_argument_group("started by a worker")
    local.add_argument("--plan", type=Path, help=argparse.SUPPRESS)
    local.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    local.add_argument("--python", type=Path, help=argparse.SUPPRESS)
    local.add_argument("--model-sha256", help=argparse.SUPPRESS)
    local.add_argument("--idle-seconds", type=float, default=600.0, help=argparse.SUPPRESS)
    return parser


def _local_plan(arguments: argparse.Namespace) -> HostPlan:
    options = plan_options(arguments.plan.read_text())
    log, version = arguments.folder / LOG, vllm_version() or ""
    return HostPlan(options, arguments.model_sha256, arguments.python, version, log)


def _remote_plan(arguments: argparse.Namespace) -> HostPlan:
    python, version = vllm_python(), vllm_version()
    if python is None or version is None:
        raise InvalidInput(
            f"vLLM is missing: {vllm_missing()}.", code="engine_missing", hint="Run `make vllm`."
        )
    if arguments.model is None or not (arguments.model / "config.json").is_file():
        raise InvalidInput("--model has to be the folder of a model, with config.json.", param="--model")
    worker_settings = read_settings()
    device = "cuda" if gpu_present() and worker_settings.device != "cpu" else "cpu"
    options = Options(
        arguments.model.resolve(),
        "bfloat16" if device == "cuda" else "float32",
        device,
        max_model_len=arguments.max_tokens,
        rank=arguments.max_rank,
        loras=LORAS,
        held=HELD,
        threads=arguments.threads,
        gpu_memory=arguments.gpu_memory,
    )
    digest = model_store(worker_settings).content_hash(arguments.model.resolve())
    return HostPlan(options, digest, python, version, worker_settings.folder("engine-hosts") / LOG)


def listener(arguments: argparse.Namespace) -> HostListener:
    host, _, port = (arguments.listen or "").rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdigit():
        raise InvalidInput("--listen has to be HOST:PORT.", param="--listen")
    if arguments.token_file is None:
        raise InvalidInput(
            "--token-file is missing: everyone could use this engine host.", param="--token-file"
        )
    try:
        token = arguments.token_file.read_text().strip()
    except OSError as error:
        raise InvalidInput(f"--token-file cannot be read: {error}", param="--token-file") from error
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable():
        raise InvalidInput(
            f"The token has to be at least {LEAST_TOKEN} printable ASCII characters.",
            param="--token-file", hint="`openssl rand -hex 32` creates one.",
        )  # fmt: skip
    if (arguments.certificate is None) != (arguments.key is None):
        raise InvalidInput("--certificate and --key belong together.", param="--certificate")
    if arguments.certificate is None and not is_loopback(host):
        raise InvalidInput(
            f"Without TLS, an engine host listens on this machine only, not on {host}.",
            param="--certificate", hint="Give --certificate and --key, or listen on 127.0.0.1.",
        )  # fmt: skip
    return HostListener(host, int(port), token, arguments.certificate, arguments.key)


if __name__ == "__main__":
    main()
