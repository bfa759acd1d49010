"""calls that answer while they run

Revises: 0002
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0003"
down_revision: str | Sequence[str] | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "call_chunk",
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("events", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["call_id"], ["call.id"], name=op.f("fk_call_chunk_call_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("call_id", "seq", name=op.f("pk_call_chunk")),
    )
    op.add_column("worker", sa.Column("process", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("worker", "process")
    op.drop_table("call_chunk")
