"""The bounded part of the chaos suite (`make test-chaos`); `make chaos N=…` runs as many faults as are asked for."""

from pathlib import Path

import pytest

from tests.chaos import report
from tests.chaos.run import Suite

FAULTS = 6


@pytest.mark.chaos
@pytest.mark.timeout(1200)
def test_nothing_is_lost_whoever_is_killed(tmp_path: Path) -> None:
    records = Suite(tmp_path / "chaos.json").run(FAULTS)
    print(report.table(records))
    failed = [
        report.line(number, record) for number, record in enumerate(records, 1) if not report.passed(record)
    ]
    assert not failed, "\n".join(failed)
    assert len(records) == FAULTS
    assert sum(record["fired"] for record in records) >= FAULTS * 2 // 3
