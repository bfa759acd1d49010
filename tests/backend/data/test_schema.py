"""Migrations create the tables of the models and can be reverted."""

from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect

from backend.data.database import sqlalchemy_url
from backend.data.migrate import alembic_config, upgrade
from backend.models import Base
from tests.backend.server import Backend


def test_migrations_and_models_agree(database_url: str) -> None:
    engine = create_engine(sqlalchemy_url(database_url))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


@pytest.mark.parametrize(
    ("table", "column", "storage"), [("completion", "words", "m"), ("event", "data", "e")]
)
def test_columns_are_stored_as_their_migration_defines(
    database_url: str, table: str, column: str, storage: str
) -> None:
    """A column that is made anew loses it, and the models cannot say it: words in their rows, events uncompressed."""
    query = "SELECT attstorage FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s"
    with psycopg.connect(database_url) as connection:
        assert connection.execute(query, (table, column)).fetchone() == (storage,)


def test_down_and_up_again(empty_database_url: str) -> None:
    upgrade(empty_database_url)
    command.downgrade(alembic_config(empty_database_url), "base")
    engine = create_engine(sqlalchemy_url(empty_database_url))
    assert inspect(engine).get_table_names() == ["alembic_version"]
    upgrade(empty_database_url)
    upgrade(empty_database_url)  # nothing left to do
    assert set(Base.metadata.tables) <= set(inspect(engine).get_table_names())
    engine.dispose()


def test_the_database_itself_refuses_nan(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        constraint = connection.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'ck_metric_point_finite'"
        ).fetchone()
        assert constraint is not None
        for value in ("NaN", "Infinity", "-Infinity"):
            row = connection.execute(
                "SELECT %s::float8 > '-Infinity' AND %s::float8 < 'Infinity'", (value, value)
            ).fetchone()
            assert row == (False,)


UNCHANGED = (
    "project",
    "dataset",
    "job",
    "attempt",
    "metric_point",
    "step_rollouts",
    "completion",
    "prompt_draw",
    "checkpoint",
    "adapter",
)


def test_down_and_up_again_with_data(database_url: str, tmp_path: Path) -> None:
    """Every migration is taken back and made again, one after the other, below a finished job."""
    with Backend(database_url, tmp_path / "home") as backend, backend.rpc_worker():
        trainer = backend.claim(backend.create_job())
        trainer.start()
        row = {"prompt_no": 0, "sample_no": 0, "prompt_hash": "ab", "row_index": 0, "reward": 1.0, "advantage": None,
               "length": 3, "finish_reason": "stop", "text": "two words"}  # fmt: skip
        table = trainer.blob(b"a table", "rollouts")
        trainer.send({"kind": "rollouts", "step": 1, "split": "train", "blob": table, "rows": [row]})
        trainer.step(1)
        trainer.evaluate(1, 0.5)
        trainer.checkpoint(1, reward=0.5, final=True)
        trainer.end("succeeded")
        job = trainer.claimed["job"]
        counts = {table: backend.sql(f"SELECT count(*) FROM {table}") for table in (*UNCHANGED, "event")}
        assert all(count != [(0,)] for count in counts.values())
        before = backend.job(job)
    config = alembic_config(database_url)
    revisions = [revision.revision for revision in ScriptDirectory.from_config(config).walk_revisions()]
    for older in revisions[1:]:
        command.downgrade(config, older)
    for newer in reversed(revisions[:-1]):
        command.upgrade(config, newer)
    with Backend(database_url, tmp_path / "home") as backend:
        assert {
            table: backend.sql(f"SELECT count(*) FROM {table}") for table in (*UNCHANGED, "event")
        } == counts
        after = backend.job(job)
        assert (after["status"], after["progress"]["step"]) == (before["status"], 1)
        assert backend.api.get(f"/jobs/{job}/metrics").json()["series"]
