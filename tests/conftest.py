"""Fixtures for all rooms."""

import gc
import os
import ssl
from typing import Any

import httpx
import hypothesis
import pytest

# How long an example takes says how busy the machine is, not whether the code is right.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

pytest_plugins = [
    "tests.support.deadline",
    "tests.support.jails",
    "tests.support.postgres",
    "tests.support.units",
    "tests.support.s3",
    "tests.support.wheel",
]

# Tests make thousands of clients, each of which would read all certificates: 20 ms of CPU. Those with default settings
# share one context.
_create_ssl_context = httpx._transports.default.create_ssl_context
_contexts = dict[tuple[str | None, ...], ssl.SSLContext]()


def _shared_ssl_context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    if verify is not True or cert:
        return _create_ssl_context(verify=verify, cert=cert, trust_env=trust_env)
    key = (str(trust_env), os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    if key not in _contexts:
        _contexts[key] = _create_ssl_context(trust_env=trust_env)
    return _contexts[key]


httpx._transports.default.create_ssl_context = _shared_ssl_context

# What a process imports and collects stays, 10,000 tests and torch: the garbage collector need not walk it.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.freeze()
    gc.enable()
