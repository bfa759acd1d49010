"""Check that a dataset has the columns that a reward reads."""

from typing import Any

from backend.data.database import Database
from backend.datasets import service as datasets
from backend.rewards import service as rewards
from backend.rpc.client import Calls
from reinforge.errors import NotFound, Unavailable
from reinforge.reward_spec.columns import IN_AN_EVALUATION, missing_columns
from reinforge.schemas.datasets import PromptView
from reinforge.schemas.evaluations import StandAloneCreate

LOAD_SECONDS = 5.0


async def check_columns(database: Database, calls: Calls, project_id: str, body: StandAloneCreate) -> None:
    """Raise InvalidInput `unknown_column` if the dataset lacks a column that the reward is known to read."""
    try:
        async with database.transaction() as session:
            dataset = await datasets.get(session, project_id, body.dataset)
            name, source, entry, entries = None, body.source or "", body.entry, None
            if body.reward is not None:
                stored_reward, revision = await rewards.get_revision(
                    session, project_id, body.reward, body.revision
                )
                name, source, entries = stored_reward.name, revision.source, revision.entries
                entry = body.entry or revision.entry
    except NotFound:
        return
    view = body.prompt_view or PromptView.model_validate(dataset.prompt_view)
    problems = missing_columns(
        name,
        await _reads(calls, source, entry, entries),
        dataset.name,
        [str(column["name"]) for column in dataset.columns],
        view.columns,
        param="reward" if body.reward is not None else "source",
        declare=IN_AN_EVALUATION,
    )
    if problems:
        raise problems[0]


async def _reads(
    calls: Calls, source: str, entry: str | None, entries: list[dict[str, Any]] | None
) -> set[str]:
    if entries is None or any("columns" not in entry_record for entry_record in entries):
        try:
            source_to_load = rewards.RewardSource("reward", source, entry)
            [loaded], _ = await rewards.load(calls, [source_to_load], timeout=LOAD_SECONDS)
        except Unavailable:
            return set()
        if loaded.error is not None:
            return set()
        entries = loaded.entries
    return rewards.columns_read(source, entry, entries)
