"""The recipe in small: what carries loss, that it learns, and that the command writes a whole checkpoint."""

import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from worker.starter.__main__ import make
from worker.starter.corpus import habits
from worker.starter.pretrain import IGNORED, PretrainPhase, encode_batch, pretrain
from worker.starter.tokenizer import ASSISTANT, END, PAD_ID, build_tokenizer

SHORT = (PretrainPhase("habits", habits, steps=20, batch=8, peak_lr=3e-3),)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_only_the_completion_and_its_end_carry_loss() -> None:
    tokenizer = build_tokenizer()
    examples = list(islice(habits(random.Random(0)), 16))
    ids, labels = encode_batch(tokenizer, examples)
    assert ids.shape == labels.shape
    for example, row, label in zip(examples, ids.tolist(), labels.tolist(), strict=True):
        learned = [token for token in label if token != IGNORED]
        assert tokenizer.decode(learned, skip_special_tokens=False) == example.completion + END
        assert all(there in (IGNORED, token) for token, there in zip(row, label, strict=True))
        assert label[row.index(tokenizer.token_to_id(ASSISTANT))] == IGNORED
        assert set(row[row.index(tokenizer.token_to_id(END)) + 1 :]) <= {PAD_ID}


def test_the_loss_falls_and_the_seed_fixes_the_weights() -> None:
    def run(seed: int) -> tuple[float, torch.Tensor]:
        lines: list[str] = []
        model = pretrain(build_tokenizer(), seed=seed, report=lines.append, phases=SHORT)
        (loss,) = re.findall(r"loss ([\d.]+)", lines[-1])
        return float(loss), model.get_input_embeddings().weight.detach()

    (loss, weights), (_, again), (_, other) = run(1), run(1), run(2)
    assert loss < 4.5  # random weights begin at ln 261 = 5.6 nats
    assert torch.equal(weights, again)
    assert not torch.equal(weights, other)


def test_the_command_writes_a_checkpoint_that_loads(tmp_path: Path) -> None:
    phases = (PretrainPhase("habits", habits, steps=2, batch=4, peak_lr=1e-3),)
    make(tmp_path / "made", seed=0, hidden=64, phases=phases, samples=4)
    assert {path.name for path in (tmp_path / "made").iterdir()} == {
        "README.md",
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "made")
    assert model.config.vocab_size == len(AutoTokenizer.from_pretrained(tmp_path / "made"))
    assert model.config.hidden_size == 64
    assert (tmp_path / "made.figures.json").is_file()
    card = (tmp_path / "made" / "README.md").read_text(encoding="utf-8")
    assert "| habits | `habits` | 2 | 4 | 0.001 |" in card
    assert "license: apache-2.0" in card
    assert "Qwen3 architecture: hidden 64, 4 layers, 2 heads" in card
