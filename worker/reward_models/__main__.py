"""Process that computes rewards with checkpoints. Reads a JSON request per line, writes an answer per line.

{"op": "classify", "path", "texts", "pairs", "max_tokens", "batch_size"}        → {"answers": [{label: probability}]}
{"op": "score", "path", "texts" | "conversations", "tools", …}                  → {"answers": [number]}
{"op": "logprob", "path", "prompts", "tools", "completions", "references", …}   → {"answers": [[sum, tokens]]}
any                                                                             → {"error": {"code", "message"}}
"""

import json
import os
import sys
from typing import Any

import torch
from transformers.utils import logging

from worker.machine.torch_device import GpuUnavailable
from worker.reward_models.answers import label_probabilities, reference_logprobs, scores
from worker.reward_models.load import ModelLoadFailed, Shelf
from worker.reward_models.texts import TextFailed


def answer(shelf: Shelf, request: dict[str, Any]) -> list[Any]:
    limits = {"max_tokens": request["max_tokens"], "batch_size": request["batch_size"]}
    if request["op"] == "classify":
        return label_probabilities(
            shelf.classifier(request["path"]), request["texts"], request.get("pairs"), **limits
        )
    if request["op"] == "score":
        loaded = shelf.classifier(request["path"])
        texts = request.get("texts")
        if not texts:
            conversations = list(zip(request["conversations"], request["tools"], strict=True))
            texts = loaded.texts.render(conversations, generation_prompt=False)
        return scores(loaded, texts, **limits)
    loaded = shelf.language_model(request["path"])
    conversations = list(zip(request["prompts"], request["tools"], strict=True))
    prompts = loaded.texts.render(conversations, generation_prompt=True)
    contexts = [
        prompt + completion for prompt, completion in zip(prompts, request["completions"], strict=True)
    ]
    return reference_logprobs(loaded, contexts, request["references"], **limits)


def main() -> None:
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
    # Answers use a separate descriptor, because libraries print to standard output.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    shelf = Shelf()
    for line in sys.stdin:
        try:
            reply: dict[str, Any] = {"answers": answer(shelf, json.loads(line))}
        except ModelLoadFailed as error:
            reply = {"error": {"code": "reward_model_unusable", "message": str(error)}}
        except GpuUnavailable as error:
            reply = {"error": {"code": "gpu_unavailable", "message": error.message, "hint": error.hint}}
        except TextFailed as error:
            reply = {"error": {"code": error.code, "message": str(error)}}
        except (torch.OutOfMemoryError, MemoryError) as error:
            reply = {
                "error": {"code": "out_of_memory", "message": f"the reward model ran out of memory: {error}"}
            }
        except (Exception, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of a tokenizer's library is no Exception
            reply = {
                "error": {"code": "reward_model_unusable", "message": f"{type(error).__name__}: {error}"}
            }
        out.write(json.dumps(reply) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
