"""Completions of a step as zstd Parquet, one row group per prompt, so that each group is read on its own.

Columns: prompt_no, sample_no, row_index, prompt_hash, prompt, prompt_messages (JSON), item (JSON), text, token_ids,
tokens (decoded pieces; joined they are the decoded completion), sampler_logprobs, trainer_logprobs, entropies, reward,
advantage, length, finish_reason, error, rewards (JSON, `reinforge.schemas.jobs.RewardResult`). With environment
`tools`: turns (JSON, `reinforge.schemas.jobs.CompletionTurn`), messages (JSON, after the prompt's), mask (tokens of the
policy); else null.
"""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from torch import Tensor

from reinforge.records import RowStatus
from reinforge.tools import call_keys
from worker.policy.base import TokenScores
from worker.rollout.collect import Rollout

SCHEMA = pa.schema(
    [
        ("prompt_no", pa.int32()),
        ("sample_no", pa.int32()),
        ("row_index", pa.int64()),
        ("prompt_hash", pa.string()),
        ("prompt", pa.string()),
        ("prompt_messages", pa.string()),
        ("item", pa.string()),
        ("text", pa.string()),
        ("token_ids", pa.list_(pa.int32())),
        ("tokens", pa.list_(pa.string())),
        ("sampler_logprobs", pa.list_(pa.float32())),
        ("trainer_logprobs", pa.list_(pa.float32())),
        ("entropies", pa.list_(pa.float32())),
        ("reward", pa.float64()),
        ("advantage", pa.float64()),
        ("length", pa.int32()),
        ("finish_reason", pa.string()),
        ("error", pa.string()),
        ("rewards", pa.string()),
        ("turns", pa.string()),
        ("messages", pa.string()),
        ("mask", pa.list_(pa.bool_())),
    ]
)
REPEATED = [
    "prompt_hash",
    "prompt",
    "prompt_messages",
    "item",
    "finish_reason",
    "token_ids.list.element",
    "tokens.list.element",
]
"""Columns with repeated values within a group, which a dictionary makes smaller; all others would grow."""
COMPRESSION = {
    leaf: "none"
    if leaf in ("prompt_no", "sample_no", "row_index", "reward", "advantage", "length")
    else "zstd"
    for leaf in (
        f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name for field in SCHEMA
    )
}
TEXT_IN_ROW = 2000
"""Most characters of a completion in its narrow row."""

Pieces = Callable[[Sequence[int]], list[str]]


def row_statuses(
    rollouts: Sequence[Rollout], rewards: Sequence[float | None], advantages: Sequence[float | None]
) -> list[RowStatus]:
    return [
        _status(rollout, reward, advantage)
        for rollout, reward, advantage in zip(rollouts, rewards, advantages, strict=True)
    ]


def _status(rollout: Rollout, reward: float | None, advantage: float | None) -> RowStatus:
    calls = [call for turn in rollout.turns for call in turn.calls]
    return RowStatus(
        prompt_no=rollout.prompt_no,
        sample_no=rollout.sample_no,
        prompt_hash=rollout.prompt.prompt_hash,
        row_index=rollout.prompt.row_index,
        reward=reward,
        advantage=advantage,
        length=sum(rollout.action_mask) if rollout.turns else len(rollout.token_ids),
        finish_reason=rollout.finish_reason,
        error=rollout.score.error if rollout.score else None,
        turns=max(1, len(rollout.turns)),
        tool_calls=len(calls),
        tool_errors=sum(call.status != "ok" for call in calls),
        call_keys=call_keys((call.name, call.status) for call in calls),
        # The narrow row goes into a database whose text has no NUL; the table keeps what was written.
        text=rollout.text[:TEXT_IN_ROW].replace("\0", "\ufffd"),
    )


@dataclass(frozen=True, slots=True)
class TrainerScores:
    scores: TokenScores
    scored: Tensor


def to_parquet(
    rollouts: Sequence[Rollout],
    statuses: Sequence[RowStatus],
    row_scores: TrainerScores | None,
    pieces: Pieces,
) -> bytes:
    """Parquet bytes of a step. row_scores: None if the trainer scored no row."""
    lines = [_line(rollout, status, pieces) for rollout, status in zip(rollouts, statuses, strict=True)]
    if row_scores is not None:
        for row in row_scores.scored.nonzero()[:, 0].tolist():
            line = lines[row]
            tokens = len(line["token_ids"])
            line["trainer_logprobs"] = row_scores.scores.logprobs[row, :tokens].tolist()
            line["entropies"] = row_scores.scores.entropies[row, :tokens].tolist()
    table, first = pa.Table.from_pylist(lines, schema=SCHEMA), 0
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, SCHEMA, compression=COMPRESSION, use_dictionary=REPEATED) as writer:
        for _, group in groupby(lines, key=lambda line: line["prompt_no"]):
            count = len(list(group))
            writer.write_table(table.slice(first, count), row_group_size=count)
            first += count
    return buffer.getvalue()


def _line(rollout: Rollout, status: RowStatus, pieces: Pieces) -> dict[str, Any]:
    prompt = rollout.prompt
    return {
        "prompt_no": rollout.prompt_no,
        "sample_no": rollout.sample_no,
        "row_index": prompt.row_index,
        "prompt_hash": prompt.prompt_hash,
        "prompt": prompt.text,
        "prompt_messages": _json(prompt.messages),
        "item": _json(prompt.item),
        "text": rollout.text,
        "token_ids": list(rollout.token_ids),
        "tokens": pieces(rollout.token_ids),
        "sampler_logprobs": list(rollout.sampler_logprobs),
        "trainer_logprobs": None,
        "entropies": rollout.sampler_entropies,
        "reward": status.reward,
        "advantage": status.advantage,
        "length": status.length,
        "finish_reason": status.finish_reason,
        "error": status.error,
        "rewards": _json([result.as_dict() for result in rollout.score.results] if rollout.score else []),
        "turns": _json([asdict(turn) for turn in rollout.turns]) if rollout.turns else None,
        "messages": _json(rollout.messages) if rollout.turns else None,
        "mask": list(rollout.action_mask) if rollout.turns else None,
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
