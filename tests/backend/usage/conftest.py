"""Budgets that end with their test."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.backend.people import made
from tests.backend.server import Backend
from tests.backend.usage.counted import usage


@pytest.fixture
def budget(rpc_backend: Backend) -> Iterator[Any]:
    def put(kind: str, amount: float, period: str = "month") -> dict[str, Any]:
        body = {"kind": kind, "amount": amount, "period": period}
        there = [
            (budget_view["kind"], budget_view["period"]) for budget_view in usage(rpc_backend)["budgets"]
        ]
        headers = {"if-match": "*"} if (kind, period) in there else {}
        return made(rpc_backend.api.put("/budgets", headers=headers, json=body), 200)

    yield put
    rpc_backend.sql("DELETE FROM budget")
