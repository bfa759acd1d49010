"""experiment trackers and exports of jobs

Revises: 0041
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0042"
down_revision: str | Sequence[str] | None = "0041"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "tracker",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("entity", sa.Text(), nullable=True),
        sa.Column("username", sa.Text(), nullable=True),
        sa.Column("key_sealed", sa.Text(), nullable=True),
        sa.Column("every_job", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('wandb', 'mlflow')", name=op.f("ck_tracker_kind")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_tracker_project_id_project"),
        sa.PrimaryKeyConstraint("id", name="pk_tracker"),
        sa.UniqueConstraint("project_id", "name", name="uq_tracker_project_id_name"),
    )
    op.create_table(
        "job_export",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("tracker_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("run_url", sa.Text(), nullable=True),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('pending', 'live', 'done', 'failed')", name=op.f("ck_job_export_state")
        ),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_job_export_job_id_job", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["tracker_id"], ["tracker.id"], name="fk_job_export_tracker_id_tracker", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_job_export"),
        sa.UniqueConstraint("job_id", "tracker_id", name="uq_job_export_job_id_tracker_id"),
    )
    due = sa.text("state IN ('pending', 'live')")
    op.create_index("ix_job_export_due", "job_export", ["next_at"], postgresql_where=due)
    op.create_index("ix_job_export_tracker_id", "job_export", ["tracker_id"])


def downgrade() -> None:
    op.drop_table("job_export")
    op.drop_table("tracker")
