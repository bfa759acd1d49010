"""index of tool calls of completions

Revises: 0048
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0049"
down_revision: str | Sequence[str] | None = "0048"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "ix_completion_call_keys",
        "completion",
        ["call_keys"],
        postgresql_using="gin",
        postgresql_where=sa.text("tool_calls > 0"),
    )


def downgrade() -> None:
    op.drop_index("ix_completion_call_keys", "completion")
