"""The database is what the migrations make, and they can be taken back."""

import psycopg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, inspect

from backend.database import sqlalchemy_url
from backend.migrate import alembic_config, upgrade
from backend.models import Base


def test_migrations_and_models_agree(database_url: str) -> None:
    engine = create_engine(sqlalchemy_url(database_url))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


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
