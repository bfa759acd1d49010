"""whose base models are: of a project, or shared by all

Those that are there were everybody's and stay so. Taken back, they are everybody's again; one whose name another one
has, too, gets its key as its name.

Revises: 0030
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0031"
down_revision: str | Sequence[str] | None = "0030"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

REFERRING = ("job", "adapter", "deployment")


def upgrade() -> None:
    for table in REFERRING:
        op.drop_constraint(f"fk_{table}_model_id", table, type_="foreignkey")
    op.drop_index("ix_job_model_id", "job")
    op.drop_constraint("pk_base_model", "base_model", type_="primary")
    op.add_column("base_model", sa.Column("key", sa.Text(), nullable=True))
    op.add_column("base_model", sa.Column("project_id", sa.Text(), nullable=True))
    op.execute("UPDATE base_model SET key = id")
    op.create_primary_key("pk_base_model", "base_model", ["key"])
    op.create_foreign_key("fk_base_model_project_id", "base_model", "project", ["project_id"], ["id"])
    op.create_index(
        "ix_base_model_id", "base_model", ["id", "project_id"], unique=True, postgresql_nulls_not_distinct=True
    )
    for table in REFERRING:
        op.add_column(table, sa.Column("model_key", sa.Text(), nullable=True))
        op.execute(f"UPDATE {table} SET model_key = model_id")
        op.alter_column(table, "model_key", nullable=False)
        op.create_foreign_key(f"fk_{table}_model_key", table, "base_model", ["model_key"], ["key"])
        op.create_index(f"ix_{table}_model_key", table, ["model_key"])


def downgrade() -> None:
    op.drop_index("ix_base_model_id", "base_model")
    # Shared ones keep their names, and of the others the oldest.
    op.execute(
        "UPDATE base_model SET id = key FROM (SELECT key AS other, row_number() OVER"
        " (PARTITION BY id ORDER BY project_id IS NOT NULL, created_at, key) AS place FROM base_model) AS places"
        " WHERE key = other AND place > 1"
    )
    for table in REFERRING:
        op.drop_index(f"ix_{table}_model_key", table)
        op.drop_constraint(f"fk_{table}_model_key", table, type_="foreignkey")
        op.execute(f"UPDATE {table} SET model_id = base_model.id FROM base_model WHERE model_key = base_model.key")
        op.drop_column(table, "model_key")
    op.drop_constraint("pk_base_model", "base_model", type_="primary")
    op.drop_column("base_model", "project_id")
    op.drop_column("base_model", "key")
    op.create_primary_key("pk_base_model", "base_model", ["id"])
    for table in REFERRING:
        op.create_foreign_key(f"fk_{table}_model_id", table, "base_model", ["model_id"], ["id"])
    op.create_index("ix_job_model_id", "job", ["model_id"])
