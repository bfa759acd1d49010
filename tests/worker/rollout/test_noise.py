"""The noise is a function with fixed values: stored completions can be sampled again by any later version."""

import numpy as np
import pytest

from worker.rollout.noise import Stream, hash64, permutation, uniform


def test_hash_values_never_change() -> None:
    # Pinned: a change here breaks the continuation of every stored job.
    hashes = [
        f"{int(hash64(0, Stream.TRAIN, 1, 2, 3, 4)):016x}",
        f"{int(hash64(7, Stream.EVALUATE, 0)):016x}",
    ]
    assert hashes == ["f3680714ce7606c0", "fad6e24671254235"]


def test_vectorised_and_single_values_agree() -> None:
    prompt_no, sample_no = np.array([0, 0, 1, 5]), np.array([0, 1, 0, 9])
    many = uniform(3, Stream.TRAIN, 8, prompt_no, sample_no, 17)
    single = [float(uniform(3, Stream.TRAIN, 8, int(p), int(s), 17)) for p, s in zip(prompt_no, sample_no)]
    assert many.tolist() == single


@pytest.mark.parametrize("place", range(5))
def test_every_counter_matters(place: int) -> None:
    counters = [2, 3, 4, 5, 6]
    before = int(hash64(1, Stream.TRAIN, *counters))
    counters[place] += 1
    assert int(hash64(1, Stream.TRAIN, *counters)) != before
    assert int(hash64(1, Stream.EVALUATE, 2, 3, 4, 5, 6)) != before
    assert int(hash64(2, Stream.TRAIN, 2, 3, 4, 5, 6)) != before


def test_it_is_uniform_inside_the_open_interval() -> None:
    values = uniform(11, Stream.TRAIN, 1, np.arange(64)[:, None], np.arange(1000)[None, :], 0).ravel()
    assert values.min() > 0
    assert values.max() < 1
    counts = np.histogram(values, bins=32, range=(0, 1))[0]
    # χ² with 31 degrees of freedom is above 70 once in 10,000 times; the values are fixed, so never by chance.
    assert ((counts - 2000) ** 2 / 2000).sum() < 70
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.02


def test_a_permutation_is_one_and_differs_by_number() -> None:
    first, second = (permutation(5, Stream.SHUFFLE, number, 50) for number in (0, 1))
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert first == permutation(5, Stream.SHUFFLE, 0, 50)
