"""What a worker's environment says about its own engine."""

import pytest

from reinforge.errors import JobFailure
from worker.engines import SAMPLING_THREADS, sampling_threads


@pytest.mark.parametrize(("given", "threads"), [(None, None), ("", None), ("1", 1), ("16", 16)])
def test_threads_of_sampling_are_the_workers_choice(
    monkeypatch: pytest.MonkeyPatch, given: str | None, threads: int | None
) -> None:
    monkeypatch.delenv(SAMPLING_THREADS, raising=False)
    if given is not None:
        monkeypatch.setenv(SAMPLING_THREADS, given)
    assert sampling_threads() == threads


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", "٢", "9999"])
def test_what_is_no_number_of_threads_ends_the_job_with_a_name(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv(SAMPLING_THREADS, given)
    with pytest.raises(JobFailure) as refused:
        sampling_threads()
    assert refused.value.code == "invalid_setting" and SAMPLING_THREADS in str(refused.value)
