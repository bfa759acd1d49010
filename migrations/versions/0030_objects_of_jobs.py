"""which job has uploaded which object

Revises: 0029
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0030"
down_revision: str | Sequence[str] | None = "0029"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

REFERRING = ("checkpoint", "resume_state", "step_rollouts")


def upgrade() -> None:
    op.create_table(
        "job_object",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["sha256"], ["stored_object.sha256"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "sha256"),
    )
    op.create_index("ix_job_object_sha256", "job_object", ["sha256"])
    for table in REFERRING:
        op.execute(
            f"INSERT INTO job_object (job_id, sha256) SELECT DISTINCT job_id, sha256 FROM {table}"
            " ON CONFLICT DO NOTHING"
        )
    # Uploaded, and its record not yet sent: whose it is was not stored, so any job under way may name it.
    nobodys = " AND ".join(
        f"NOT EXISTS (SELECT FROM {table} WHERE {table}.sha256 = stored_object.sha256)" for table in REFERRING
    )
    op.execute(
        "INSERT INTO job_object (job_id, sha256) SELECT job.id, stored_object.sha256 FROM job, stored_object"
        " WHERE job.status IN ('starting', 'running', 'pausing', 'cancelling')"
        f" AND stored_object.kind IN ('checkpoint', 'resume', 'rollouts') AND {nobodys} ON CONFLICT DO NOTHING"
    )


def downgrade() -> None:
    op.drop_table("job_object")
