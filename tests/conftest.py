"""Fixtures for all rooms."""

pytest_plugins = ["tests.support.postgres", "tests.support.wheel"]
