"""Creating, cancelling and deleting sweeps."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, require_owner
from backend.data.ids import new_id
from backend.models import SweepRow, now
from backend.sweeps import repository
from backend.sweeps.repository import OPEN
from reinforge.errors import InvalidInput, NotFound, StateConflict
from reinforge.sweeps import SweepSpec


async def create(
    session: AsyncSession,
    project_id: str,
    spec: SweepSpec,
    created_by: str,
    *,
    gpu_hour_price: float | None,
    warnings: Sequence[str],
) -> SweepRow:
    row = SweepRow(
        id=new_id("sweep_"),
        project_id=project_id,
        name=spec.name or f"{spec.method} of {spec.job.get('model', 'models')}",
        status="running",
        spec=spec.model_dump(mode="json", exclude_unset=True),
        warnings=list(warnings),
        gpu_hour_price=gpu_hour_price,
        created_by=created_by,
        created_at=now(),
    )
    session.add(row)
    await session.flush()
    return row


async def find(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> SweepRow:
    row = await repository.find(session, project_id, id, lock=lock)
    if row is None:
        raise NotFound(f"There is no sweep {id}.", code="sweep_not_found", param="id")
    return row


async def cancel(session: AsyncSession, project_id: str, id: str) -> SweepRow:
    row = await find(session, project_id, id, lock=True)
    if row.status not in OPEN:
        raise StateConflict(
            f"The sweep cannot be cancelled: it is {row.status}.", code="sweep_ended", hint="It has ended."
        )
    row.status = "cancelling"
    await session.flush()
    return row


async def delete(session: AsyncSession, who: Principal, id: str) -> None:
    require_owner(who, "the deletion of sweeps")
    row = await find(session, who.project_id, id, lock=True)
    if row.status in OPEN:
        raise StateConflict(
            f"The sweep cannot be deleted: it is {row.status}.",
            code="sweep_not_ended",
            hint="Cancel it, and delete it once its jobs have stopped.",
        )
    await session.delete(row)


def require_price(spec: SweepSpec, gpu_hour_price: float | None) -> None:
    """Raise InvalidInput `no_price` if the budget is in money but no GPU-hour price is set."""
    if spec.budget.money is not None and gpu_hour_price is None:
        raise InvalidInput(
            "The server has no price of a GPU hour, so a budget in money cannot be measured.",
            code="no_price",
            param="budget.money",
            hint="Set REINFORGE_GPU_HOUR_PRICE on the server, or use budget.seconds.",
        )


def advice(spec: SweepSpec) -> list[str]:
    data, evaluation = _section(spec, "data"), _section(spec, "evaluation")
    warnings = []
    if spec.seeds is not None and len(spec.seed_values) > 1 and not data.get("held_out"):
        warnings.append(
            "Each seed holds out other rows, so rewards also differ by the rows: name a dataset as data.held_out."
        )
    if evaluation.get("rows") == 0:
        warnings.append("evaluation.rows is 0: there will be no held-out reward to compare by.")
    if data.get("held_out_rows") == 0 and not data.get("held_out"):
        warnings.append("data.held_out_rows is 0: there will be no held-out reward to compare by.")
    return warnings


def _section(spec: SweepSpec, name: str) -> dict[str, Any]:
    section = spec.job.get(name)
    return section if isinstance(section, dict) else {}
