"""Summary line of a test run: number of sandbox tests per jail. A jail without tests is visible there."""

import re
from collections import Counter

import pytest

_ROOM = "tests/worker/sandbox/"
_JAIL = re.compile(r"[\[-]([NL])[\]-]")


@pytest.hookimpl
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    seconds = dict[str, float]()
    tests, skipped = Counter[str](), Counter[str]()
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            match = _JAIL.search(getattr(report, "nodeid", ""))
            if match is None or not report.nodeid.startswith(_ROOM):
                continue
            jail = match[1]
            seconds[jail] = seconds.get(jail, 0.0) + getattr(report, "duration", 0.0)
            tests[jail] += getattr(report, "when", "") == "call" and outcome != "skipped"
            skipped[jail] += outcome == "skipped"
    for jail in sorted(seconds):
        left_out = f", {skipped[jail]} skipped" if skipped[jail] else ""
        terminalreporter.write_line(f"jail {jail}: {tests[jail]} tests in {seconds[jail]:.0f} s{left_out}")
