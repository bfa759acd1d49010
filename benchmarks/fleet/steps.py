"""Steps as a worker sends them: the Parquet object of all tokens with their arrays, and the records.

Made once and then varied cheaply, so that whoever sends them is not what limits the load: objects differ by a mark in
their footer (so each has a hash of its own and is stored), records by step, sequence and prompts.
"""

import hashlib
import io
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy
import pyarrow as pa
import pyarrow.parquet as parquet

PROMPTS, SAMPLES = 16, 8
DATASET_PROMPTS = 1000
"""Different prompts of a job: each comes again after as many steps as it takes to see all."""
TEXT_IN_ROW = 2000
METRICS = 40
_MARK = b"mark-0000000000000000"

_FLOATS = ("sampler_logprobs", "trainer_logprobs", "entropies")
SCHEMA = pa.schema(
    [
        *(("prompt_no", pa.int32()), ("sample_no", pa.int32()), ("row_index", pa.int64())),
        *((name, pa.string()) for name in ("prompt_hash", "prompt", "prompt_messages", "item", "text")),
        *(("token_ids", pa.list_(pa.int32())), ("tokens", pa.list_(pa.string()))),
        *((name, pa.list_(pa.float32())) for name in _FLOATS),
        *(("reward", pa.float64()), ("advantage", pa.float64()), ("length", pa.int32())),
        *((name, pa.string()) for name in ("finish_reason", "error", "rewards", "turns", "messages")),
        ("mask", pa.list_(pa.bool_())),
    ]
)
"""As `worker.training.reporting.rollout_table` writes it."""


class Words:
    """Texts of words whose frequencies fall as in written language, with digits and signs between them."""

    def __init__(self, seed: int, vocabulary: int = 20_000) -> None:
        self._chance = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        spell = random.Random(0)
        made = ["".join(spell.choices(letters, k=spell.randint(2, 9))) for _ in range(vocabulary)]
        self._pieces = [f" {word}{spell.choice(('', '', '', ',', '.', ' =', ' 12', '7'))}" for word in made]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(vocabulary)))

    def ids(self, count: int) -> list[int]:
        return self._chance.choices(range(len(self._pieces)), cum_weights=self._weights, k=count)

    def word(self, rank: int) -> str:
        """The word of a piece, as a search finds it."""
        return self._pieces[rank].split()[0].strip(",.=")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._pieces[id] for id in ids]


@dataclass(frozen=True)
class Template:
    """One step's completions, ready to be sent by any job as any step."""

    parquet: bytes
    groups: list[tuple[bytes, ...]]
    """The rows of each prompt as JSON, cut where the prompt's hash stands."""

    def object(self, mark: int) -> tuple[str, bytes]:
        """SHA-256 and bytes of an object like no other."""
        content = self.parquet.replace(_MARK, b"mark-%016x" % mark)
        return hashlib.sha256(content).hexdigest(), content

    def records(self, attempt: int, sequence: int, step: int, sha256: str) -> bytes:
        """The body with a whole step: two phases, the completions, the metrics. Four records from `sequence` on."""
        now = time.time()
        rows = b",".join(prompt_hash(step, number).join(parts) for number, parts in enumerate(self.groups))
        head: dict[str, Any] = {
            "attempt": attempt,
            "records": [_phase(sequence, step, name, now) for name in ("scoring", "updating")],
        }
        head["records"][1]["sequence"] += 1
        rollouts = {
            "sequence": sequence + 2, "ts": now, "kind": "rollouts", "step": step, "split": "train",
            "blob": {"sha256": sha256, "bytes": len(self.parquet)}, "revisions": {"right": "sha256:ab"},
        }  # fmt: skip
        values = {f"bench/metric_{number:02d}": number + step / 7 for number in range(METRICS - 2)}
        values |= {"reward/mean": 0.5, "time/step": 1.0}
        metrics = {
            "sequence": sequence + 3,
            "ts": now,
            "kind": "step_metrics",
            "step": step,
            "values": values,
        }
        opened = json.dumps(head).encode()[:-2] + b"," + json.dumps(rollouts).encode()[:-1]
        return opened + b',"rows":[' + rows + b"]}," + json.dumps(metrics).encode() + b"]}"

    def begins(self, attempt: int, sequence: int, step: int) -> bytes:
        """The body that says that a step is being sampled: one record."""
        return json.dumps(
            {"attempt": attempt, "records": [_phase(sequence, step, "generating", time.time())]}
        ).encode()


RECORDS_PER_STEP = 5


def prompt_hash(step: int, prompt_no: int) -> bytes:
    return b"prompt-%09d" % ((step * PROMPTS + prompt_no) % DATASET_PROMPTS)


def _phase(sequence: int, step: int, phase: str, now: float) -> dict[str, Any]:
    return {
        "sequence": sequence, "ts": now, "kind": "phase", "phase": phase, "step": step, "done": 0, "total": 128,
    }  # fmt: skip


def template(seed: int, tokens: int) -> Template:
    """`PROMPTS` × `SAMPLES` completions of `tokens` tokens with log-probabilities and entropies."""
    words, chance = Words(seed), random.Random(seed)
    floats = numpy.random.default_rng(seed)
    lines = [
        _line(words, chance, floats, prompt, sample, tokens)
        for prompt in range(PROMPTS)
        for sample in range(SAMPLES)
    ]
    buffer = io.BytesIO()
    schema = SCHEMA.with_metadata({"mark": _MARK.decode()})
    with parquet.ParquetWriter(buffer, schema, compression="zstd") as writer:
        for number in range(PROMPTS):
            group = lines[number * SAMPLES : (number + 1) * SAMPLES]
            writer.write_table(pa.Table.from_pylist(group, schema=schema), row_group_size=SAMPLES)
    groups = []
    for number in range(PROMPTS):
        rows = json.dumps([_row(line) for line in lines[number * SAMPLES : (number + 1) * SAMPLES]]).encode()
        groups.append(tuple(rows[1:-1].split(b"PROMPT-HASH")))
    return Template(buffer.getvalue(), groups)


def _line(
    words: Words, chance: random.Random, floats: numpy.random.Generator, prompt: int, sample: int, tokens: int
) -> dict[str, Any]:
    ids = words.ids(tokens)
    pieces = words.pieces(ids)
    question = f"Question {prompt}:{''.join(words.pieces(words.ids(60)))}?"
    reward = float(chance.random() < 0.4)
    arrays = {name: -floats.exponential(0.6, tokens).astype(numpy.float32) for name in _FLOATS}
    result = {
        "name": "right",
        "value": reward,
        "reason": "compared with the answer",
        "status": "ok",
        "parts": {},
    }
    return {
        "prompt_no": prompt, "sample_no": sample, "row_index": prompt, "prompt_hash": "PROMPT-HASH",
        "prompt": question, "prompt_messages": json.dumps([{"role": "user", "content": question}]),
        "item": json.dumps({"prompt": question, "answer": "42"}), "text": "".join(pieces),
        "token_ids": ids, "tokens": pieces, **arrays,
        "reward": reward, "advantage": reward - 0.4, "length": tokens,
        "finish_reason": "stop" if chance.random() < 0.9 else "length", "error": None,
        "rewards": json.dumps([result]),
    }  # fmt: skip


def _row(line: dict[str, Any]) -> dict[str, Any]:
    names = (
        "prompt_no",
        "sample_no",
        "prompt_hash",
        "row_index",
        "reward",
        "advantage",
        "length",
        "finish_reason",
        "error",
    )
    return {name: line[name] for name in names} | {"text": line["text"][:TEXT_IN_ROW]}
