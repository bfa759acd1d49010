"""Fixtures for all rooms."""

pytest_plugins = [
    "tests.support.jails",
    "tests.support.postgres",
    "tests.support.rows",
    "tests.support.s3",
    "tests.support.wheel",
]
