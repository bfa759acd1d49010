"""golden cases of rewards

Revises: 0006
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0007"
down_revision: str | Sequence[str] | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "golden_case",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("reward_id", sa.Text(), nullable=False),
        sa.Column("item", JSONB(), nullable=False),
        sa.Column("prompt", JSONB(), nullable=False),
        sa.Column("completion", sa.Text(), nullable=False),
        sa.Column("expect", JSONB(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("origin", JSONB(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["reward_id"], ["reward.id"], name=op.f("fk_golden_case_reward_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_golden_case")),
    )
    op.create_index("ix_golden_case_list", "golden_case", ["reward_id", "created_at", "id"])


def downgrade() -> None:
    op.drop_table("golden_case")
