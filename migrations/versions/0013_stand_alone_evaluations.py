"""evaluations of a model on a dataset, without a job

Revises: 0012
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0013"
down_revision: str | Sequence[str] | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("evaluation", sa.Column("name", sa.Text(), nullable=True))
    op.add_column("evaluation", sa.Column("runner", sa.Text(), nullable=True))
    op.alter_column("evaluation", "job_id", nullable=True)
    op.drop_constraint(op.f("ck_evaluation_kind"), "evaluation", type_="check")
    op.create_check_constraint(op.f("ck_evaluation_kind"), "evaluation", "kind IN ('replay', 'stand_alone')")
    op.create_check_constraint(op.f("ck_evaluation_job"), "evaluation", "(kind = 'replay') = (job_id IS NOT NULL)")
    op.create_index(
        "ix_evaluation_running", "evaluation", ["touched_at"], postgresql_where=sa.text("status = 'running'")
    )
    op.create_table(
        "evaluation_completion",
        sa.Column("evaluation_id", sa.Text(), nullable=False),
        sa.Column("row_no", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sample_no", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("finish_reason", sa.Text(), nullable=True),
        sa.Column("result", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluation.id"],
            name=op.f("fk_evaluation_completion_evaluation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "evaluation_id", "row_no", "sample_no", name=op.f("pk_evaluation_completion")
        ),
    )


def downgrade() -> None:
    op.drop_table("evaluation_completion")
    op.drop_index("ix_evaluation_running", "evaluation")
    op.execute("DELETE FROM evaluation WHERE kind <> 'replay'")
    op.drop_constraint(op.f("ck_evaluation_job"), "evaluation", type_="check")
    op.drop_constraint(op.f("ck_evaluation_kind"), "evaluation", type_="check")
    op.create_check_constraint(op.f("ck_evaluation_kind"), "evaluation", "kind IN ('replay')")
    op.alter_column("evaluation", "job_id", nullable=False)
    op.drop_column("evaluation", "runner")
    op.drop_column("evaluation", "name")
