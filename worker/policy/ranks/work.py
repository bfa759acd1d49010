"""Measures a rank's processor time, tokens and peak memory."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from worker.policy.base import Sequences
from worker.policy.ranks.calls import AddGradient, RankWork, ScoreRows


class WorkMeter:
    def __init__(self) -> None:
        self._seconds, self._tokens = 0.0, 0

    @property
    def work(self) -> RankWork:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if torch.cuda.is_available():
            peak = torch.cuda.max_memory_allocated()
        return RankWork(self._seconds, self._tokens, peak)

    @contextmanager
    def measured(self, tokens: int) -> Iterator[None]:
        started = time.process_time()
        try:
            yield
        finally:
            self._seconds += time.process_time() - started
            self._tokens += tokens


def token_count(call: Any) -> int:
    match call:
        case ScoreRows(sequences=sequences):
            return _tokens(sequences)
        case AddGradient(batch=batch):
            return _tokens(batch.sequences)
    return 0


def _tokens(sequences: Sequences) -> int:
    return sum(map(len, sequences.prompts)) + sum(map(len, sequences.completions))
