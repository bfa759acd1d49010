"""prompts and answers of evaluated rows

Revises: 0035
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0036"
down_revision: str | Sequence[str] | None = "0035"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "evaluation_prompt",
        sa.Column("evaluation_id", sa.Text(), nullable=False),
        sa.Column("row_no", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluation.id"],
            name="fk_evaluation_prompt_evaluation_id_evaluation",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("evaluation_id", "row_no", name="pk_evaluation_prompt"),
    )


def downgrade() -> None:
    op.drop_table("evaluation_prompt")
