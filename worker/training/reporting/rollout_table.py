"""Completions of a step as zstd Parquet, one row group per prompt, so that each group is read on its own.

Columns: prompt_no, sample_no, row_index, prompt_hash, prompt, prompt_messages (JSON), item (JSON), text, token_ids,
tokens (decoded pieces; joined they are the decoded completion), sampler_logprobs, trainer_logprobs, entropies, reward,
advantage, length, finish_reason, error, rewards (JSON, `reinforge.schemas.jobs.RewardResult`). With environments
`tools` and `agent`: turns (JSON, `reinforge.schemas.jobs.CompletionTurn`), messages (JSON, after the prompt's), mask
(tokens of the policy); else null. A row is a rollout; its reward, advantage and length are those of all its
conversations. If any rollout of the step has several trained conversations: branch (number of the row's own) and
branches (the other conversations; null without any).
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

from reinforge.records import CompletionSummary
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
_BRANCH = pa.struct(
    [
        ("branch", pa.int32()),
        ("reason", pa.string()),
        ("share", pa.float64()),
        ("prompt_messages", pa.string()),
        ("text", pa.string()),
        ("token_ids", pa.list_(pa.int32())),
        ("tokens", pa.list_(pa.string())),
        ("sampler_logprobs", pa.list_(pa.float32())),
        ("trainer_logprobs", pa.list_(pa.float32())),
        ("entropies", pa.list_(pa.float32())),
        ("turns", pa.string()),
        ("messages", pa.string()),
        ("mask", pa.list_(pa.bool_())),
    ]
)
FORKED = pa.schema([*SCHEMA, ("branch", pa.int32()), ("branches", pa.list_(_BRANCH))])
"""Schema of a step in which a rollout has several conversations; other steps omit its last columns."""
REPEATED = [
    "prompt_hash",
    "prompt",
    "prompt_messages",
    "item",
    "finish_reason",
    "token_ids.list.element",
    "tokens.list.element",
]
"""Columns that repeat values in a group: dictionary encoding makes them smaller, and all others larger."""


def _leaves(name: str, type: pa.DataType) -> list[str]:
    if pa.types.is_list(type):
        return _leaves(f"{name}.list.element", type.value_type)
    if pa.types.is_struct(type):
        return [leaf for part in type for leaf in _leaves(f"{name}.{part.name}", part.type)]
    return [name]


COMPRESSION = {
    leaf: "none"
    if leaf in ("prompt_no", "sample_no", "row_index", "reward", "advantage", "length")
    else "zstd"
    for field in FORKED
    for leaf in _leaves(field.name, field.type)
}
TEXT_IN_ROW = 2000
"""Maximum length of a completion in its `CompletionSummary`, in characters."""

Pieces = Callable[[Sequence[int]], list[str]]


def completion_summaries(
    rollouts: Sequence[Rollout], rewards: Sequence[float | None], advantages: Sequence[float | None]
) -> list[CompletionSummary]:
    return [
        _summary(rollout, reward, advantage)
        for rollout, reward, advantage in zip(rollouts, rewards, advantages, strict=True)
    ]


def _summary(rollout: Rollout, reward: float | None, advantage: float | None) -> CompletionSummary:
    turns = [turn for conversation in rollout.conversations for turn in conversation.turns]
    calls = [call for turn in turns for call in turn.calls]
    return CompletionSummary(
        prompt_no=rollout.prompt_no,
        sample_no=rollout.sample_no,
        prompt_hash=rollout.prompt.prompt_hash,
        row_index=rollout.prompt.row_index,
        reward=reward,
        advantage=advantage,
        length=rollout.policy_tokens if rollout.turns else len(rollout.token_ids),
        finish_reason=rollout.finish_reason,
        error=rollout.score.error if rollout.score else None,
        turns=max(1, len(turns)),
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
    summaries: Sequence[CompletionSummary],
    row_scores: TrainerScores | None,
    pieces: Pieces,
) -> bytes:
    """Parquet bytes of a step. row_scores: None if the trainer scored no row."""
    lines = [_line(rollout, summary, pieces) for rollout, summary in zip(rollouts, summaries, strict=True)]
    if row_scores is not None:
        for row in row_scores.scored.nonzero()[:, 0].tolist():
            start = 0
            for line in (*(lines[row]["branches"] or ()), lines[row]):
                end = start + len(line["token_ids"])
                line["trainer_logprobs"] = row_scores.scores.logprobs[row, start:end].tolist()
                line["entropies"] = row_scores.scores.entropies[row, start:end].tolist()
                start = end
    schema = FORKED if any(rollout.others for rollout in rollouts) else SCHEMA
    compression = {leaf: COMPRESSION[leaf] for field in schema for leaf in _leaves(field.name, field.type)}
    table, first = pa.Table.from_pylist(lines, schema=schema), 0
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, schema, compression=compression, use_dictionary=REPEATED) as writer:
        for _, group in groupby(lines, key=lambda line: line["prompt_no"]):
            count = len(list(group))
            writer.write_table(table.slice(first, count), row_group_size=count)
            first += count
    return buffer.getvalue()


def _line(rollout: Rollout, summary: CompletionSummary, pieces: Pieces) -> dict[str, Any]:
    prompt = rollout.prompt
    return _conversation(rollout, pieces) | {
        "prompt_no": rollout.prompt_no,
        "sample_no": rollout.sample_no,
        "row_index": prompt.row_index,
        "prompt_hash": prompt.prompt_hash,
        "prompt": prompt.text,
        "item": _json(prompt.item),
        "reward": summary.reward,
        "advantage": summary.advantage,
        "length": summary.length,
        "finish_reason": summary.finish_reason,
        "error": summary.error,
        "rewards": _json([result.as_dict() for result in rollout.score.results] if rollout.score else []),
        "branches": [_branch(other, pieces) for other in rollout.others] or None,
    }


def _branch(conversation: Rollout, pieces: Pieces) -> dict[str, Any]:
    return _conversation(conversation, pieces) | {
        "reason": conversation.branch_reason,
        "share": conversation.share,
    }


def _conversation(conversation: Rollout, pieces: Pieces) -> dict[str, Any]:
    turns = conversation.turns
    return {
        "branch": conversation.branch if turns else None,
        "prompt_messages": _json(conversation.prompt.messages),
        "text": conversation.text,
        "token_ids": list(conversation.token_ids),
        "tokens": pieces(conversation.token_ids),
        "sampler_logprobs": list(conversation.sampler_logprobs),
        "trainer_logprobs": None,
        "entropies": conversation.sampler_entropies,
        "turns": _json([asdict(turn) for turn in turns]) if turns else None,
        "messages": _json(conversation.messages) if turns else None,
        "mask": list(conversation.action_mask) if turns else None,
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
