"""sweeps and their trials

Revises: 0037
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0038"
down_revision: str | Sequence[str] | None = "0037"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

JSON = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "sweep",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("notice", sa.Text(), nullable=True),
        sa.Column("spec", JSON, nullable=False),
        sa.Column("warnings", JSON, nullable=False),
        sa.Column("gpu_hour_price", sa.Double(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("finished_at", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(
            "status IN ('running', 'cancelling', 'succeeded', 'failed', 'cancelled')",
            name=op.f("ck_sweep_status"),
        ),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_sweep_project_id_project"),
        sa.PrimaryKeyConstraint("id", name="pk_sweep"),
    )
    op.create_index("ix_sweep_list", "sweep", ["project_id", "created_at", "id"])
    op.create_index(
        "ix_sweep_open",
        "sweep",
        ["created_at"],
        postgresql_where=sa.text("status IN ('running', 'cancelling')"),
    )
    op.create_table(
        "sweep_trial",
        sa.Column("sweep_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("setting", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("parameters", JSON, nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("error", JSON, nullable=True),
        sa.Column("ended_by", sa.Text(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(
            "state IN ('pending', 'submitted', 'refused', 'skipped')", name=op.f("ck_sweep_trial_state")
        ),
        sa.CheckConstraint(
            "ended_by IN ('halving', 'budget', 'sweep_cancelled')", name=op.f("ck_sweep_trial_ended_by")
        ),
        sa.ForeignKeyConstraint(
            ["sweep_id"], ["sweep.id"], name="fk_sweep_trial_sweep_id_sweep", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name="fk_sweep_trial_job_id_job", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("sweep_id", "number", name="pk_sweep_trial"),
    )
    op.create_index("ix_sweep_trial_job_id", "sweep_trial", ["job_id"], unique=True)


def downgrade() -> None:
    op.drop_table("sweep_trial")
    op.drop_table("sweep")
