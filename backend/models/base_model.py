"""Base models, shared or of one project."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class BaseModel(Created, Base):
    __tablename__ = "base_model"
    __table_args__ = (
        Index("ix_base_model_id", "id", "project_id", unique=True, postgresql_nulls_not_distinct=True),
    )

    key: Mapped[str] = mapped_column(primary_key=True)
    """Internal key, since several projects may use the same id."""
    id: Mapped[str]
    project_id: Mapped[str | None] = mapped_column(ForeignKey("project.id"))
    source: Mapped[str]
    """`builtin:…`, a folder on the worker, or `hub:org/name@revision`."""
    status: Mapped[str]
    error: Mapped[str | None]
    architecture: Mapped[str | None]
    parameters: Mapped[int | None]
    context_length: Mapped[int | None]
    has_chat_template: Mapped[bool] = mapped_column(default=False)
    chat_template_source: Mapped[str | None]
    vocabulary: Mapped[int | None]
    lora_targets: Mapped[list[str]]
    bytes: Mapped[int | None]
    licence: Mapped[str | None]
    sha256: Mapped[str | None]
    created_by: Mapped[str | None]
    revision: Mapped[str | None]
    token_sealed: Mapped[str | None]
    progress: Mapped[dict[str, Any] | None]
    """Progress of adding the model: `{phase, done, total, file}`; sizes in bytes."""
    shape: Mapped[dict[str, Any] | None]
    touched_at: Mapped[datetime | None]

    @property
    def shared(self) -> bool:
        return self.project_id is None
