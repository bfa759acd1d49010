"""Counting what a project uses."""

from datetime import UTC, datetime
from typing import Literal, get_args

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import UsageRow

Kind = Literal[
    "device_seconds", "sampled_tokens", "trained_tokens", "judge_spend", "storage_bytes",
    "served_input_tokens", "served_output_tokens",
]  # fmt: skip
"""`storage_bytes` is a level, the day's last; the others are sums over the day."""
KINDS: tuple[Kind, ...] = get_args(Kind)


async def add(session: AsyncSession, project_id: str, kind: Kind, amount: float, source: str = "") -> None:
    """Count `amount` as used today; `source` is the job or deployment that used it.

    The row of a source stays locked until the transaction ends: keep transactions with one source short.
    """
    if amount <= 0:
        return
    statement = insert(UsageRow).values(
        project_id=project_id, day=datetime.now(UTC).date(), kind=kind, source=source, amount=amount
    )
    grown = UsageRow.amount + statement.excluded.amount
    await session.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "day", "kind", "source"], set_={"amount": grown}
        )
    )
