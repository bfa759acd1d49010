"""judges of a project; rewards that are graders

Revises: 0009
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | Sequence[str] | None = "0009"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

IS_JSON = r"source ~ '^[\ufeff \t\r\n]*\{'"
"""As `reinforge.grading.source.is_grader`."""
KINDS = "kind IN ('python', 'grader')"


def upgrade() -> None:
    op.create_table(
        "judge",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("input_price", sa.Double(), nullable=False),
        sa.Column("output_price", sa.Double(), nullable=False),
        sa.Column("structured", sa.Text(), nullable=False),
        sa.Column("concurrency", sa.BigInteger(), nullable=False),
        sa.Column("timeout_seconds", sa.Double(), nullable=False),
        sa.Column("retries", sa.BigInteger(), nullable=False),
        sa.Column("key_sealed", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_judge_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judge")),
        sa.UniqueConstraint("project_id", "name", name="uq_judge_project_id_name"),
    )
    # What is stored so far is Python, unless a downgrade took the word for it away; from now on every row says what
    # it is.
    for table in ("reward", "reward_revision", "job_reward"):
        op.add_column(table, sa.Column("kind", sa.Text(), nullable=False, server_default="python"))
        op.alter_column(table, "kind", server_default=None)
    for table in ("reward_revision", "job_reward"):
        op.execute(f"UPDATE {table} SET kind = 'grader' WHERE {IS_JSON}")
    for table in ("reward", "job_reward"):
        id = "id" if table == "reward" else "reward_id"
        op.execute(
            f"UPDATE {table} SET kind = pinned.kind FROM reward_revision AS pinned"
            f" WHERE pinned.reward_id = {table}.{id} AND pinned.revision = {table}.revision"
        )
    for table in ("reward", "reward_revision", "job_reward"):
        op.create_check_constraint(op.f(f"ck_{table}_kind"), table, KINDS)


def downgrade() -> None:
    for table in ("job_reward", "reward_revision", "reward"):
        op.drop_constraint(op.f(f"ck_{table}_kind"), table, type_="check")
        op.drop_column(table, "kind")
    op.drop_table("judge")
