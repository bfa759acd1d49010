"""Section `published`: a job that trains the model whose folder the user names, on the user's prompts."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

from common.gpu.job import no_vllm, rollout, times
from common.gpu.rows import Row, Setting, holds
from common.measure import ROOT

REWARD = ROOT / "benchmarks" / "common" / "number_reward.py"
MOST_ROWS = 2000


def run(setting: Setting) -> Iterator[Row]:
    """Steps of 16 × 8 completions of 512 tokens, by vLLM where it is installed."""
    assert setting.model is not None
    data = setting.data or "gsm8k"
    try:
        rows = rows_of(data, setting.folder)
    except Exception as error:  # noqa: BLE001 - whatever a download raises
        yield holds("prompts", False, f"{data} cannot be read: {error}. Name a JSONL file with --data FILE")
        return
    engine = "transformers" if no_vllm(setting) else "vllm"
    job = {
        "model": str(setting.model),
        "data": {"dataset": str(rows), "held_out_rows": 32},
        "rewards": [{"type": "python", "name": "answer", "path": str(REWARD)}],
        "rollout": (rollout(2, 4, 16) if setting.tiny else rollout(16, 8, 512)) | {"engine": engine},
        "evaluation": {"every_steps": 20, "rows": 32, "samples_per_row": 1},
        "limits": {"steps": 2 if setting.tiny else 20},
    }
    label = f"{setting.model.name}, engine {engine}"
    yield from times(label, job, setting.folder / "published", setting)


def rows_of(data: str, folder: Path) -> Path:
    """A JSONL file with `messages` and `answer`: the user's, or made of rows with `question` and `answer`, as GSM8K has
    them. `gsm8k` itself is downloaded, which needs a network and the package `datasets`."""
    if data == "gsm8k":
        from datasets import load_dataset

        rows = load_dataset("openai/gsm8k", "main", split="train")
    else:
        rows = [json.loads(line) for line in Path(data).read_text(encoding="utf-8").splitlines()]
        if not rows or "question" not in rows[0]:
            return Path(data)
    file = folder / "published.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for row in itertools.islice(rows, MOST_ROWS):
            answer = row["answer"].rpartition("####")[2].strip().replace(",", "")
            out.write(
                json.dumps({"messages": [{"role": "user", "content": row["question"]}], "answer": answer})
                + "\n"
            )
    return file
