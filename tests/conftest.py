"""Fixtures for all rooms."""

import hypothesis

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
