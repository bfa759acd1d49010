"""Sampling noise as a pure function of seed and counters, without state to save: splitmix64 (Steele et al. 2014)."""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

UInts = npt.NDArray[np.uint64]


class Stream(IntEnum):
    TRAIN = 1
    EVALUATE = 2
    SHUFFLE = 3
    PLAY = 4
    REPAIR = 5
    REFILL = 6
    FRONTIER = 7


def uniform(seed: int, stream: Stream, *counters: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Numbers in (0, 1), one per broadcast element of `counters` (integers ≥ 0)."""
    bits = hash64(seed, stream, *counters) >> np.uint64(11)
    return (bits.astype(np.float64) + 0.5) * 2.0**-53


def hash64(seed: int, stream: Stream, *counters: npt.ArrayLike) -> UInts:
    # Wrapping around is the point; numpy warns about it for scalars.
    with np.errstate(over="ignore"):
        state = np.asarray(seed, np.uint64)
        for counter in (int(stream), *counters):
            state = _mix((state ^ np.asarray(counter, np.uint64)) + _GOLDEN)
        return state


def permutation(seed: int, stream: Stream, number: int, size: int) -> list[int]:
    keys = hash64(seed, stream, number, np.arange(size))
    return [int(index) for index in np.argsort(keys, kind="stable")]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(state: UInts) -> UInts:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)))
