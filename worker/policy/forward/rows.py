"""Rows as tensors of one pass: right-padded, or packed into one sequence that contains each prompt once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise

import torch
from torch import Tensor

from worker.policy.base import Sequences


@dataclass(frozen=True, slots=True)
class CompletionTargets:
    ids: Tensor
    line: Tensor
    column: Tensor
    """(M,) int64: index of each target in its completion."""
    shape: tuple[int, int]

    def spread(self, values: Tensor) -> Tensor:
        """Values (M,) as a matrix (n, T), 0 at missing tokens."""
        empty = torch.zeros(self.shape, dtype=values.dtype, device=values.device)
        return empty.index_put((self.line, self.column), values)


@dataclass(frozen=True, slots=True)
class Padded:
    ids: Tensor
    position: Tensor
    """(M,) int64: column whose state predicts each target."""
    targets: CompletionTargets


@dataclass(frozen=True, slots=True)
class AttentionSegment:
    """Queries `start` to `stop` of a packed sequence attend to an earlier prompt and, causally, to each
    other.
    """

    start: int
    stop: int
    prompt: tuple[int, int] = (0, 0)
    """Start and stop of the prompt's keys; empty if the segment contains its own prompt."""

    @property
    def keys(self) -> int:
        return self.prompt[1] - self.prompt[0] + self.stop - self.start


@dataclass(frozen=True, slots=True)
class Spans:
    """Keys that the queries of a packed sequence attend to; `index` repeats a prompt before each of its
    completions.
    """

    segments: tuple[AttentionSegment, ...]
    index: Tensor | None
    """(K,) int64: position of each key; None for all positions in sequence order."""
    query_starts: Tensor
    """(segments + 1,) int32: starts of the segments' queries, and the end."""
    key_starts: Tensor
    """(segments + 1,) int32: starts of the segments' keys, and the end."""
    most_queries: int = field(init=False)
    most_keys: int = field(init=False)
    kernels: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        most_queries = max(segment.stop - segment.start for segment in self.segments)
        object.__setattr__(self, "most_queries", most_queries)
        object.__setattr__(self, "most_keys", max(segment.keys for segment in self.segments))


@dataclass(frozen=True, slots=True)
class Packed:
    ids: Tensor
    position_ids: Tensor
    """(1, S) int64: position in the row."""
    picked: Tensor
    """(M,) int64: position whose state predicts each target."""
    spans: Spans
    targets: CompletionTargets


def padded(sequences: Sequences, device: torch.device) -> Padded:
    rows, longest = len(sequences), sequences.longest
    before = _column(sequences.prompts) - 1
    lengths = _column(sequences.completions)
    # The last token of a sequence is predicted, never read.
    read = before + lengths
    width = max(int(read.max()) if rows else 0, 1)
    ids = torch.zeros((rows, width), dtype=torch.int64)
    ids[torch.arange(width) < read] = _flat(
        [*prompt, *completion][:-1]
        for prompt, completion in zip(sequences.prompts, sequences.completions, strict=True)
    )
    line, column = (torch.arange(longest) < lengths).nonzero(as_tuple=True)
    ids, tokens, line, column, position = _to_device(
        device, ids, _flat(sequences.completions), line, column, before[line, 0] + column
    )
    return Padded(ids, position, CompletionTargets(tokens, line, column, (rows, longest)))


def packed(sequences: Sequences, device: torch.device) -> Packed:
    """Pack rows; a prompt and its first completion are one segment."""
    pieces: list[Sequence[int]] = []
    positions: list[int] = []
    segments: list[AttentionSegment] = []
    before, behind = [0] * len(sequences), [0] * len(sequences)
    size = 0
    for prompt, rows in groups(sequences, range(len(sequences))):
        begin, end = size, size + len(prompt)
        pieces.append(prompt)
        positions.append(0)
        size = end
        for row in rows:
            # The last token of a sequence is predicted, never read.
            read = sequences.completions[row][:-1]
            before[row], behind[row] = end - 1, size
            pieces.append(read)
            positions.append(len(prompt))
            size += len(read)
            if row == rows[0]:
                segments.append(AttentionSegment(begin, size))
            elif read:
                segments.append(AttentionSegment(behind[row], size, (begin, end)))
    lengths = _column(sequences.completions)
    line, column = (torch.arange(sequences.longest) < lengths).nonzero(as_tuple=True)
    first, then = torch.tensor(before)[line], torch.tensor(behind)[line] + column - 1
    ranges = [part for s in segments for part in (s.prompt, (s.start, s.stop))]
    whole = sum(stop - start for start, stop in ranges) == size
    starts = list(accumulate((s.stop - s.start for s in segments), initial=0))
    key_starts = list(accumulate((s.keys for s in segments), initial=0))
    ids, position_ids, picked, index, query_starts, starts_of_keys, tokens, line, column = _to_device(
        device,
        _flat(pieces),
        _ranges(positions, [len(piece) for piece in pieces]),
        torch.where(column == 0, first, then),
        torch.empty(0, dtype=torch.int64)
        if whole
        else _ranges([start for start, _ in ranges], [stop - start for start, stop in ranges]),
        torch.tensor(starts),
        torch.tensor(key_starts),
        _flat(sequences.completions),
        line,
        column,
    )
    spans = Spans(tuple(segments), None if whole else index, query_starts.int(), starts_of_keys.int())
    targets = CompletionTargets(tokens, line, column, (len(sequences), sequences.longest))
    return Packed(ids[None], position_ids[None], picked, spans, targets)


def groups(sequences: Sequences, rows: Sequence[int]) -> list[tuple[tuple[int, ...], list[int]]]:
    by_prompt: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        by_prompt.setdefault(tuple(sequences.prompts[row]), []).append(row)
    return list(by_prompt.items())


def _ranges(starts: Sequence[int], lengths: Sequence[int]) -> Tensor:
    ends = list(accumulate(lengths, initial=0))
    shift = torch.tensor([start - end for start, end in zip(starts, ends, strict=False)])
    return torch.arange(ends[-1]) + torch.repeat_interleave(shift, torch.tensor(lengths))


def _to_device(device: torch.device, *tensors: Tensor) -> list[Tensor]:
    if device.type == "cpu":
        return list(tensors)
    flat = torch.cat([tensor.flatten() for tensor in tensors]).pin_memory().to(device, non_blocking=True)
    ends = accumulate((tensor.numel() for tensor in tensors), initial=0)
    parts = [flat[start:stop] for start, stop in pairwise(ends)]
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def _column(rows: Sequence[Sequence[int]]) -> Tensor:
    return torch.tensor([len(row) for row in rows], dtype=torch.int64)[:, None]


def _flat(rows: Iterable[Sequence[int]]) -> Tensor:
    return torch.tensor(list(chain.from_iterable(rows)), dtype=torch.int64)
