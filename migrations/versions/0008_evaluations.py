"""evaluations (replays) and labels of completions

Revises: 0007
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0008"
down_revision: str | Sequence[str] | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "evaluation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("params", JSONB(none_as_null=True), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("result", JSONB(none_as_null=True), nullable=True),
        sa.Column("error", JSONB(none_as_null=True), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("touched_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('replay')", name=op.f("ck_evaluation_kind")),
        sa.CheckConstraint(
            "status IN ('running', 'succeeded', 'failed', 'cancelled')", name=op.f("ck_evaluation_status")
        ),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_evaluation_project_id")),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name=op.f("fk_evaluation_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation")),
    )
    op.create_index("ix_evaluation_list", "evaluation", ["project_id", "created_at", "id"])
    op.create_index("ix_evaluation_job_id", "evaluation", ["job_id"])
    op.create_table(
        "label",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("prompt_no", sa.BigInteger(), nullable=False),
        sa.Column("sample_no", sa.BigInteger(), nullable=False),
        sa.Column("right", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id", "split", "step", "prompt_no", "sample_no"],
            [f"completion.{name}" for name in ("job_id", "split", "step", "prompt_no", "sample_no")],
            name=op.f("fk_label_job_id_split_step_prompt_no_sample_no"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "job_id", "split", "step", "prompt_no", "sample_no", name=op.f("pk_label")
        ),
    )


def downgrade() -> None:
    op.drop_table("label")
    op.drop_table("evaluation")
