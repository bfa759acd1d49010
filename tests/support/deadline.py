"""The end of a run of tests: those that would begin after `REINFORGE_TEST_DEADLINE` are skipped.

`.ci/run` sets it for machines several times slower than usual, which could not run all tests within CI's limit.
"""

import os
import time

import pytest

DEADLINE = float(os.environ.get("REINFORGE_TEST_DEADLINE", "inf"))
"""Seconds since the epoch."""
REASON = "no time left: this machine is several times slower than usual"
LEAST_SHARE = 0.25
"""Share of the tests that must have run; below it, the run fails."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    if time.time() > DEADLINE:
        pytest.skip(REASON)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    skipped = sum(REASON in str(report.longrepr) for report in reporter.stats.get("skipped", []))
    ran = sum(len(reporter.stats.get(kind, [])) for kind in ("passed", "failed", "error"))
    if skipped and ran < LEAST_SHARE * (ran + skipped):
        reporter.write_line(f"Only {ran} of {ran + skipped} tests were run before the deadline.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
