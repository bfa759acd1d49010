"""Batched decoding until every row has ended.

Ended rows leave the batch at steps that depend only on the sampled tokens, so equal requests form equal
batches.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from worker.rollout.decoder import Decoder
from worker.rollout.engine import FinishReason, GenerateRequest, Sample
from worker.rollout.noise import uniform
from worker.rollout.sampling import choose

COMPACT_AT = 0.75
REASONS: tuple[FinishReason, ...] = ("stop", "length", "cancelled")
_RUNNING = -1


@dataclass(frozen=True, slots=True)
class Part:
    request: GenerateRequest
    first: int
    count: int


class DecodeBatch:
    def __init__(
        self, decoder: Decoder, parts: Sequence[Part], decode: Callable[[Sequence[Sequence[int]]], list[str]]
    ) -> None:
        self.parts = parts
        self.sampling = parts[0].request.sampling
        self._decoder = decoder
        self._decode = decode
        self._bounds = [0, *itertools.accumulate(part.count for part in parts)]
        rows = self._bounds[-1]
        self._prompt_of = np.repeat(np.arange(len(parts)), [part.count for part in parts])
        self._prompt_no = np.array([part.request.noise.prompt_no for part in parts])[self._prompt_of]
        self._sample_no = np.concatenate([np.arange(part.first, part.first + part.count) for part in parts])
        keys = [part.request.noise for part in parts]
        self._noise_sample = self._sample_no + np.array([key.sample_no for key in keys])[self._prompt_of]
        self._first_token = np.array([key.first_token for key in keys])[self._prompt_of]
        self._limits = np.array([part.request.most_tokens for part in parts])[self._prompt_of]
        shape = rows, int(self._limits.max())
        self._tokens = np.zeros(shape, np.int64)
        self._logprobs = np.zeros(shape, np.float32)
        self._entropies = np.zeros(shape, np.float32)
        self._lengths = np.zeros(rows, np.int64)
        self._reasons = np.full(rows, _RUNNING, np.int8)
        self._batch_rows = np.arange(rows)
        self._stop_ids = np.array(self.sampling.stop_ids, np.int64)
        self._step = 0
        prompts = [part.request.prompt_ids for part in parts]
        self._logits = decoder.prefill(prompts, torch.from_numpy(self._prompt_of))

    def advance(self) -> None:
        rows = self._batch_rows
        tokens, logprobs, entropies = choose(
            self._logits,
            self._noise(rows),
            temperature=self.sampling.temperature,
            top_p=self.sampling.top_p,
            entropies=self.sampling.entropies,
        )
        if entropies is not None:
            # Entries after the end of a row are never read.
            self._entropies[rows, self._step] = entropies.cpu().numpy()
        self._append(rows, tokens.cpu().numpy(), logprobs.cpu().numpy())
        self._step += 1
        keep = self._reasons[rows] == _RUNNING
        if not keep.any():
            return
        if keep.sum() <= COMPACT_AT * len(rows):
            lines = torch.from_numpy(np.flatnonzero(keep)).to(tokens.device)
            self._batch_rows, tokens = rows[keep], tokens[lines]
            self._decoder.keep(lines)
        self._logits = self._decoder.step(tokens)

    def end(self, reason: FinishReason, rows: Sequence[int] | None = None) -> None:
        chosen = np.arange(len(self._reasons)) if rows is None else np.asarray(rows, np.int64)
        self._reasons[chosen[self._reasons[chosen] == _RUNNING]] = REASONS.index(reason)

    @property
    def rows(self) -> list[tuple[Part, int]]:
        return [
            (self.parts[part], sample)
            for part, sample in zip(self._prompt_of.tolist(), self._sample_no.tolist(), strict=True)
        ]

    @property
    def logits(self) -> Tensor:
        return self._logits

    @property
    def lines(self) -> list[int]:
        batch_rows: list[int] = self._batch_rows.tolist()
        return batch_rows

    def logprobs(self, row: int) -> list[float]:
        logprobs: list[float] = self._logprobs[row, : self._lengths[row]].tolist()
        return logprobs

    def count(self, row: int) -> int:
        return int(self._lengths[row])

    def tokens(self, row: int) -> list[int]:
        tokens: list[int] = self._tokens[row, : self._lengths[row]].tolist()
        return tokens

    def reason(self, row: int) -> FinishReason | None:
        code = self._reasons[row]
        return None if code == _RUNNING else REASONS[code]

    def samples(self, part_index: int) -> tuple[Sample, ...] | None:
        """None if any row is unfinished."""
        start, stop = self._bounds[part_index], self._bounds[part_index + 1]
        if (self._reasons[start:stop] == _RUNNING).any():
            return None
        with_entropies = self.sampling.entropies
        return tuple(
            Sample(
                tuple(self._tokens[row, : self._lengths[row]].tolist()),
                tuple(self._logprobs[row, : self._lengths[row]].tolist()),
                REASONS[self._reasons[row]],
                tuple(self._entropies[row, : self._lengths[row]].tolist()) if with_entropies else None,
            )
            for row in range(start, stop)
        )

    def _noise(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        key = self.parts[0].request.noise
        places = self._first_token[rows] + self._step
        return uniform(
            key.seed, key.stream, key.step, self._prompt_no[rows], self._noise_sample[rows], places
        )

    def _append(
        self, rows: npt.NDArray[np.int64], tokens: npt.NDArray[Any], logprobs: npt.NDArray[Any]
    ) -> None:
        step = self._step
        live = self._reasons[rows] == _RUNNING
        rows, tokens, logprobs = rows[live], tokens[live], logprobs[live]
        self._tokens[rows, step] = tokens
        self._logprobs[rows, step] = logprobs
        self._lengths[rows] = step + 1
        stopped = np.isin(tokens, self._stop_ids)
        if self.sampling.stop:
            stopped |= np.array(self._end_with_stop_text(rows), bool)
        self._reasons[rows[self._limits[rows] == step + 1]] = REASONS.index("length")
        self._reasons[rows[stopped]] = REASONS.index("stop")

    def _end_with_stop_text(self, rows: npt.NDArray[np.int64]) -> list[bool]:
        # One character is at most four byte tokens, so a stop text of n characters lies within the last 4n tokens.
        reach = 4 * max(len(text) for text in self.sampling.stop)
        lengths = self._lengths[rows]
        tails = self._decode(
            [
                self._tokens[row, max(0, length - reach) : length].tolist()
                for row, length in zip(rows, lengths, strict=True)
            ]
        )
        return [any(text in tail for text in self.sampling.stop) for tail in tails]
