"""keys of tool calls of completions

Revises: 0045
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0046"
down_revision: str | Sequence[str] | None = "0045"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column(
        "completion",
        sa.Column("call_keys", postgresql.ARRAY(sa.Text()), nullable=False, server_default="{}"),
    )
    op.create_index(
        "ix_completion_calls",
        "completion",
        ["job_id", "step", "split", "prompt_no", "sample_no"],
        postgresql_include=["reward", "length", "turns", "finish_reason", "call_keys"],
        postgresql_where=sa.text("tool_calls > 0"),
    )


def downgrade() -> None:
    op.drop_index("ix_completion_calls", "completion")
    op.drop_column("completion", "call_keys")
