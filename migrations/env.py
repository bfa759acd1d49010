"""Alembic's entry point. The database is DATABASE_URL, or what `backend.data.migrate` passes."""

import os

from alembic import context
from sqlalchemy import create_engine, text

from backend.data.database import sqlalchemy_url
from backend.models import Base

_LOCK = 0x7265696E666F7267  # "reinforg": two processes that migrate at once take turns


def run() -> None:
    url = context.config.attributes.get("url") or os.environ["DATABASE_URL"]
    engine = create_engine(sqlalchemy_url(url))
    with engine.connect() as connection:
        context.configure(connection=connection, target_metadata=Base.metadata, compare_type=True)
        with context.begin_transaction():
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            context.run_migrations()
    engine.dispose()


run()
