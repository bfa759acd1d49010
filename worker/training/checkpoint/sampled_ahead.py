"""Completions of the step after a position, sampled and scored ahead, and their files in a resume state."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

from worker.environment.base import Prompt, Segment
from worker.rewards.base import RewardResult, Score
from worker.rollout.collect import Collected, Rollout
from worker.rollout.conversations import Round
from worker.rollout.engine import Sampling
from worker.rollout.noise import Stream

TEXTS, TOKENS = "ahead.json", "ahead.safetensors"


@dataclass(frozen=True, slots=True)
class SampledAhead:
    round: Round
    revisions: Mapping[str, str]
    """Revisions of the rewards that scored the completions."""
    collected: Collected

    def fits(self, current: Round, revisions: Mapping[str, str]) -> bool:
        """Whether the completions fit the round `current`: only the policy version may differ."""
        return replace(self.round, version=current.version) == current and self.revisions == revisions


def pack_ahead(ahead: SampledAhead) -> dict[str, bytes]:
    """Encode completions with one turn as files of a resume state."""
    groups, rollouts = ahead.collected.groups, ahead.collected.rollouts
    body = {
        "round": asdict(ahead.round),
        "revisions": dict(ahead.revisions),
        "seconds": [ahead.collected.generate_seconds, ahead.collected.score_seconds],
        "groups": [
            {"prompt": asdict(group[0].prompt), "rollouts": [_fields(rollout) for rollout in group]}
            for group in groups
        ],
    }
    tensors = {
        "lengths": torch.tensor([len(rollout.token_ids) for rollout in rollouts]),
        "token_ids": _flat([rollout.token_ids for rollout in rollouts], torch.int32),
        "logprobs": _flat([rollout.sampler_logprobs for rollout in rollouts], torch.float64),
    }
    entropies = [rollout.sampler_entropies for rollout in rollouts]
    if all(values is not None for values in entropies):
        tensors["entropies"] = _flat([values or () for values in entropies], torch.float64)
    return {TEXTS: json.dumps(body).encode(), TOKENS: save(tensors)}


def unpack_ahead(files: Mapping[str, bytes]) -> SampledAhead | None:
    """Decode the completions in a resume state's files, if any. Raises KeyError, TypeError, ValueError or
    SafetensorError for malformed files.
    """
    if TEXTS not in files:
        return None
    body = json.loads(files[TEXTS])
    segments = iter(_segments(load(files[TOKENS])))
    groups = [
        [_rollout(fields, _prompt(group["prompt"]), next(segments)) for fields in group["rollouts"]]
        for group in body["groups"]
    ]
    generate_seconds, score_seconds = body["seconds"]
    return SampledAhead(
        _round(body["round"]), body["revisions"], Collected(groups, generate_seconds, score_seconds)
    )


def _flat(rows: Sequence[Sequence[float]], dtype: torch.dtype) -> Tensor:
    return torch.tensor(list(chain.from_iterable(rows)), dtype=dtype)


def _segments(tensors: Mapping[str, Tensor]) -> list[Segment]:
    lengths = tensors["lengths"].tolist()
    ids, logprobs = (torch.split(tensors[name], lengths) for name in ("token_ids", "logprobs"))
    if "entropies" not in tensors:
        entropies: Sequence[tuple[float, ...] | None] = [None] * len(lengths)
    else:
        entropies = [tuple(part.tolist()) for part in torch.split(tensors["entropies"], lengths)]
    return [
        Segment(tuple(row.tolist()), "policy", tuple(row_logprobs.tolist()), row_entropies)
        for row, row_logprobs, row_entropies in zip(ids, logprobs, entropies, strict=True)
    ]


def _fields(rollout: Rollout) -> dict[str, Any]:
    names = ("prompt_no", "sample_no", "text", "finish_reason", "version")
    return {name: getattr(rollout, name) for name in names} | {
        "score": None if rollout.score is None else asdict(rollout.score)
    }


def _rollout(fields: dict[str, Any], prompt: Prompt, segment: Segment) -> Rollout:
    score = None if fields["score"] is None else _score(**fields["score"])
    return Rollout(**fields | {"prompt": prompt, "completion": (segment,), "score": score})


def _score(*, results: Sequence[dict[str, Any]], **others: Any) -> Score:
    return Score(results=tuple(_result(**fields) for fields in results), **others)


def _result(*, steps: Sequence[Any], turns: Sequence[Any], **others: Any) -> RewardResult:
    pairs: dict[str, Any] = {
        "steps": [tuple(step) for step in steps],
        "turns": [tuple(turn) for turn in turns],
    }
    return RewardResult(**pairs, **others)


def _prompt(fields: dict[str, Any]) -> Prompt:
    return Prompt(**fields | {"token_ids": tuple(fields["token_ids"])})


def _round(fields: dict[str, Any]) -> Round:
    sampling = fields["sampling"]
    lists = {name: tuple(sampling[name]) for name in ("stop_ids", "stop")}
    return Round(**fields | {"stream": Stream(fields["stream"]), "sampling": Sampling(**sampling | lists)})
