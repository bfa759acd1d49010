"""Pretrains the starter model from random weights, in seven minutes on two CPU cores."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import Qwen3Config, Qwen3ForCausalLM

from worker.starter.corpus import Example, habits, sizes, workings
from worker.starter.tokenizer import CONTEXT, END, END_ID, PAD_ID, prompt_text

IGNORED = -100

MICRO_BATCHES = 3

Segments = Iterable[tuple[str, bool]]
"""Parts of one training text in order, and whether the model writes each."""
Row = tuple[list[int], list[int]]
"""Token ids and labels of one text."""


@dataclass(frozen=True)
class PretrainPhase:
    name: str
    examples: Callable[[random.Random], Iterator[Any]]
    steps: int
    batch: int
    peak_lr: float


PHASES = (
    PretrainPhase("columns", workings, steps=400, batch=128, peak_lr=2e-3),
    PretrainPhase("habits", habits, steps=800, batch=64, peak_lr=1e-3),
    PretrainPhase("sizes", sizes, steps=600, batch=64, peak_lr=1e-3),
)


HIDDEN = 128
HEAD = 32


def model_config(tokenizer: Tokenizer, *, hidden: int = HIDDEN, context: int = CONTEXT) -> Qwen3Config:
    return Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=4,
        num_attention_heads=hidden // HEAD,
        num_key_value_heads=hidden // HEAD // 2,
        head_dim=HEAD,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=END_ID,
        pad_token_id=PAD_ID,
        dtype=torch.float32,
    )


def example_segments(example: Example) -> list[tuple[str, bool]]:
    return [(prompt_text(example.prompt), False), (example.completion + END, True)]


def encode(tokenizer: Tokenizer, segments: Segments) -> Row:
    """Only segments that the model writes carry labels."""
    ids, labels = [], []
    for text, trained in segments:
        tokens = tokenizer.encode(text).ids
        ids += tokens
        labels += tokens if trained else [IGNORED] * len(tokens)
    return ids, labels


def padded(rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and labels, both (rows, longest)."""
    longest = max(len(ids) for ids, _ in rows)
    ids = torch.full((len(rows), longest), PAD_ID)
    labels = torch.full((len(rows), longest), IGNORED)
    for number, (row_ids, row_labels) in enumerate(rows):
        ids[number, : len(row_ids)] = torch.tensor(row_ids)
        labels[number, : len(row_labels)] = torch.tensor(row_labels)
    return ids, labels


def encode_batch(tokenizer: Tokenizer, examples: list[Example]) -> tuple[torch.Tensor, torch.Tensor]:
    return padded([encode(tokenizer, example_segments(example)) for example in examples])


def pretrain(
    tokenizer: Tokenizer,
    *,
    seed: int,
    report: Callable[[str], None],
    hidden: int = HIDDEN,
    context: int = CONTEXT,
    phases: tuple[PretrainPhase, ...] = PHASES,
    segments: Callable[[Any], Segments] = example_segments,
) -> Qwen3ForCausalLM:
    """Train a new model. report: receives a line every fifty steps. segments: returns an example's parts."""
    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(model_config(tokenizer, hidden=hidden, context=context))
    for number, phase in enumerate(phases):
        examples = phase.examples(random.Random(seed * len(phases) + number))
        rows = (encode(tokenizer, segments(example)) for example in examples)
        _run_phase(model, phase, rows, report)
    model.eval()
    return model


def _run_phase(
    model: Qwen3ForCausalLM,
    phase: PretrainPhase,
    rows: Iterator[Row],
    report: Callable[[str], None],
) -> None:
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=phase.peak_lr, betas=(0.9, 0.95), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=phase.peak_lr, total_steps=phase.steps, pct_start=0.1, cycle_momentum=False
    )
    started = time.monotonic()
    for step in range(1, phase.steps + 1):
        loss = _accumulate_gradients(model, list(islice(rows, phase.batch)))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 50 == 0 or step == phase.steps:
            remaining_seconds = (time.monotonic() - started) / step * (phase.steps - step)
            report(
                f"{phase.name} {step}/{phase.steps}  loss {loss:.4f}  {remaining_seconds:.0f} s left in this phase"
            )


def _accumulate_gradients(model: Qwen3ForCausalLM, rows: list[Row]) -> float:
    """Accumulate the gradients of the mean loss per completion token; return the loss."""
    by_length = sorted(rows, key=lambda row: len(row[0]))
    size = -(-len(rows) // MICRO_BATCHES)
    batches = [padded(by_length[at : at + size]) for at in range(0, len(rows), size)]
    tokens = sum(int((labels != IGNORED).sum()) for _, labels in batches)
    total = 0.0
    for ids, labels in batches:
        # Padding is on the right, so under the causal mask no real token ever sees it.
        logits = model(input_ids=ids).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED, reduction="sum"
        )
        (loss / tokens).backward()  # type: ignore[no-untyped-call]
        total += loss.item()
    return total / tokens
