"""Schema migration and version check."""

import asyncio
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.ext.asyncio import AsyncConnection

from backend.data.database import Database

_HERE = Path(__file__).resolve().parents[1]


def scripts_folder() -> Path:
    inside = _HERE / "migrations"
    return inside if inside.is_dir() else _HERE.parent / "migrations"


def alembic_config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(scripts_folder()).replace("%", "%%"))
    config.attributes["url"] = url
    return config


def upgrade(url: str) -> None:
    command.upgrade(alembic_config(url), "head")


def head_revision() -> str | None:
    return ScriptDirectory.from_config(alembic_config("")).get_current_head()


async def current_revision(database: Database) -> str | None:
    async with database.engine.connect() as connection:
        return await _read(connection)


async def is_migrated(database: Database) -> bool:
    current, head = await asyncio.gather(current_revision(database), asyncio.to_thread(head_revision))
    return current == head


async def _read(connection: AsyncConnection) -> str | None:
    return await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())
