"""GSM8K on randomly initialised models added by folder: upload, validate, preview, three steps."""

import os
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PretrainedConfig,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from reinforge.client import Reinforge
from reinforge.offline.train import model_folder
from tests.e2e.conftest import ROOT

SHARED = Path(os.environ.get("REINFORGE_SHARED", ROOT.parent / "shared")) / "data" / "gsm8k"
needs_gsm8k = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"GSM8K is not in the repository; set REINFORGE_SHARED (looked in {SHARED})"
)
REWARD = """\
import re

def grade(sample, item):
    expected = item["answer"].rsplit("####", 1)[1].strip().replace(",", "")
    digits = re.findall(r"-?[0-9]+", sample["output_text"])
    return {"score": float(bool(digits) and digits[-1] == expected), "parts": {"has_digits": float(bool(digits))}}
"""


def random_model(kind: str, folder: Path) -> Path:
    """A two-layer model with the starter's tokenizer, as a person would have it in a folder."""
    tokenizer = AutoTokenizer.from_pretrained(model_folder("starter-arith"))
    common = {
        "vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048,
        "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id,
    }  # fmt: skip
    torch.manual_seed(1)
    config: PretrainedConfig
    if kind == "qwen3":
        config = Qwen3Config(head_dim=16, **common)
        Qwen3ForCausalLM(config).save_pretrained(folder)
    else:
        config = LlamaConfig(**common)
        LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@needs_gsm8k
@pytest.mark.parametrize("kind", ["qwen3", "llama"])
def test_gsm8k_trains_three_steps(client: Reinforge, tmp_path: Path, kind: str) -> None:
    folder = random_model(kind, tmp_path / kind)
    folder.chmod(0o755)
    model = client.models.add(f"random-{kind}", str(folder))
    assert model.status == "ready" and model.context_length == 2048 and model.has_chat_template
    data = client.datasets.push(SHARED / "train.jsonl", name="gsm8k-train")
    assert data.rows == 7473
    assert {c["name"] for c in data.columns} == {"question", "answer"}
    assert data.preview[0]["question"]
    job = client.jobs.create(
        {
            "model": model.id,
            "data": {"dataset": data.id, "prompt_template": "{question}", "held_out_rows": 8},
            "rewards": [{"type": "python", "source": REWARD}],
            "rollout": {"prompts_per_step": 4, "completions_per_prompt": 4, "max_completion_tokens": 24},
            "evaluation": {"every_steps": 0, "rows": 4, "samples_per_row": 1},
            "limits": {"steps": 3},
        }
    )
    done = client.jobs.wait(job.id, timeout=240)
    assert done.status == "succeeded", done.error
    series = {s.key: s for s in client.jobs.metrics(job.id).series if s.kind == "train"}
    assert series["reward/mean"].steps == [1, 2, 3]
    assert any(key.endswith("has_digits") for key in series)
    one = client.jobs.completion(job.id, "train", 1, 0, 0)
    assert one.item["question"][:40] in one.prompt


def test_200_megabytes_are_uploaded_read_and_paged(client: Reinforge, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    text = "x" * 1000
    with path.open("w") as out:
        for number in range(200_000):
            out.write(f'{{"prompt": "row {number} {text}", "answer": "{number}"}}\n')
    assert path.stat().st_size > 200_000_000
    data = client.datasets.push(path)
    assert (data.rows, data.bytes) == (200_000, path.stat().st_size)
    assert client.datasets.rows(data.id, offset=199_999, limit=1)[0]["answer"] == "199999"
    client.datasets.delete(data.id)
