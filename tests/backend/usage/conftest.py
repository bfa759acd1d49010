"""Budgets that end with their test."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.backend.people import made
from tests.backend.server import Backend
from tests.backend.usage.counted import usage


@pytest.fixture
def budget(open_lane: Backend) -> Iterator[Any]:
    def put(kind: str, amount: float, period: str = "month") -> dict[str, Any]:
        body = {"kind": kind, "amount": amount, "period": period}
        there = [(each["kind"], each["period"]) for each in usage(open_lane)["budgets"]]
        headers = {"if-match": "*"} if (kind, period) in there else {}
        return made(open_lane.api.put("/budgets", headers=headers, json=body), 200)

    yield put
    open_lane.sql("DELETE FROM budget")
