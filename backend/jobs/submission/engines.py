"""What the workers that are online sample completions with."""

from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Worker, now
from backend.rpc.client import ONLINE_SECONDS


async def auto_engine(session: AsyncSession) -> str:
    """What `rollout.engine: auto` becomes: an engine that every worker would choose, for any may take the job."""
    chosen = {engines[0] if engines else "transformers" for engines in await _engines(session)}
    return chosen.pop() if len(chosen) == 1 else "transformers"


async def engine_missing(session: AsyncSession, engine: str) -> str | None:
    """A warning where no worker that is online has the engine that a job names."""
    known = await _engines(session)
    if engine == "auto" or not known or any(engines is None or engine in engines for engines in known):
        return None
    return (
        f"No worker that is online has {engine}: as it is now, the job pauses with `engine_missing`. `make vllm` on a "
        "worker adds it."
    )


async def _engines(session: AsyncSession) -> list[list[str] | None]:
    """Of each worker that trains and is online; None for one that has not said."""
    online_since = now() - timedelta(seconds=ONLINE_SECONDS)
    query = select(Worker.engines).where(Worker.kind == "trainer", Worker.last_seen_at > online_since)
    return list(await session.scalars(query))
