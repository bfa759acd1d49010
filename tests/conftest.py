"""Fixtures for all rooms."""

import gc

import hypothesis
import pytest

# How long an example takes says how busy the machine is, not whether the code is right.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

pytest_plugins = [
    "tests.support.jails",
    "tests.support.postgres",
    "tests.support.units",
    "tests.support.s3",
    "tests.support.wheel",
]

# What a process imports and collects stays, 10,000 tests and torch: the garbage collector need not walk it.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.freeze()
    gc.enable()
