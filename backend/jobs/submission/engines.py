"""Rollout engines of the online workers."""

from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Worker, now
from backend.rpc.client import ONLINE_SECONDS


async def auto_engine(session: AsyncSession) -> str:
    """The engine that all online workers choose for `auto`, since any may claim the job; transformers if
    there is none.
    """
    chosen = {engines[0] if engines else "transformers" for engines in await _engines(session)}
    return chosen.pop() if len(chosen) == 1 else "transformers"


async def engine_missing(session: AsyncSession, engine: str) -> str | None:
    engines_by_worker = await _engines(session)
    if (
        engine == "auto"
        or not engines_by_worker
        or any(engines is None or engine in engines for engines in engines_by_worker)
    ):
        return None
    return f"No online worker has {engine}: the job would pause with `engine_missing`. `make vllm` on a worker adds it."


async def _engines(session: AsyncSession) -> list[list[str] | None]:
    online_since = now() - timedelta(seconds=ONLINE_SECONDS)
    query = select(Worker.engines).where(Worker.kind == "trainer", Worker.last_seen_at > online_since)
    return list(await session.scalars(query))
