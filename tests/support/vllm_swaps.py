"""Run by the interpreter that has vLLM: samples from models with one adapter after another, and prints the samples.

Reads {name: {"model": folder, "adapters": [folder, …], "prompt": [token id, …]}} from standard input, and writes one
line per name: {"name": …, "samples": [[[token ids], [log-probabilities]], …]}, the base model's sample first, or
{"name": …, "error": …}. vLLM is imported once; each model has a fork of its own, which may die, two at a time.
"""

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

TOKENS, SEED, RANK = 6, 7, 8
SIDE_BY_SIDE = 2
MESSAGE = 1000
"""Longest reported error in characters: a line must go through a pipe in one piece."""


def samples(model: str, adapters: list[str], prompt: list[int]) -> list[Any]:
    from vllm import LLM, SamplingParams
    from vllm.lora.request import LoRARequest

    server = LLM(
        model,
        dtype="float32",
        max_model_len=128,
        enforce_eager=True,
        enable_lora=True,
        max_lora_rank=RANK,
        max_cpu_loras=3,
        logprobs_mode="processed_logprobs",
        generation_config="vllm",
    )
    how = SamplingParams(temperature=1.0, max_tokens=TOKENS, seed=SEED, logprobs=0, ignore_eos=True)
    rows = []
    for number, adapter in enumerate([None, *adapters]):
        lora = None if adapter is None else LoRARequest(f"policy-{number}", number, adapter)
        (answer,) = server.generate([{"prompt_token_ids": prompt}], how, lora_request=lora, use_tqdm=False)
        output = answer.outputs[0]
        logprobs = [
            places[token].logprob for token, places in zip(output.token_ids, output.logprobs, strict=True)
        ]
        rows.append([list(output.token_ids), logprobs])
    return rows


def answer(name: str, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"name": name, "samples": samples(request["model"], request["adapters"], request["prompt"])}
    except Exception as error:  # told to whoever asked
        traceback.print_exc()
        return {"name": name, "error": f"{type(error).__name__}: {error}"[:MESSAGE]}


def main() -> None:
    importlib.import_module("vllm.entrypoints.llm")  # once, before the forks
    requests: dict[str, dict[str, Any]] = json.load(sys.stdin)
    out = os.dup(1)
    os.dup2(2, 1)  # what vLLM says is no answer

    def tell(line: dict[str, Any]) -> None:
        os.write(out, json.dumps(line).encode() + b"\n")

    running: dict[int, str] = {}
    for name, request in requests.items():
        if len(running) == SIDE_BY_SIDE:
            wait(running, tell)
        if (pid := os.fork()) == 0:
            tell(answer(name, request))
            os._exit(0)
        running[pid] = name
    while running:
        wait(running, tell)


def wait(running: dict[int, str], tell: Callable[[dict[str, Any]], None]) -> None:
    """For one of them to end; what died without an answer is an error."""
    pid, status = os.wait()
    name = running.pop(pid)
    if status:
        tell({"name": name, "error": f"it ended with {status}"})


if __name__ == "__main__":
    main()
