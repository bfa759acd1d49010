"""Base class of all tables: column types, constraint naming."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Double, MetaData, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


def now() -> datetime:
    return datetime.now(UTC)


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {
        str: Text,
        int: BigInteger,
        float: Double,
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB(none_as_null=True),
        dict[str, str]: JSONB(none_as_null=True),
        list[dict[str, Any]]: JSONB(none_as_null=True),
        list[str]: JSONB(none_as_null=True),
        list[float]: JSONB(none_as_null=True),
    }


class Created:
    created_at: Mapped[datetime] = mapped_column(default=now)
