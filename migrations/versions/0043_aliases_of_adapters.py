"""aliases of adapters with their history, and the card that a project requires

Revises: 0042
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0043"
down_revision: str | Sequence[str] | None = "0042"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("project", sa.Column("required_card", sa.Text(), nullable=True))
    op.create_table(
        "adapter_alias",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("adapter_id", sa.Text(), nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_adapter_alias_project_id_project"),
        sa.ForeignKeyConstraint(["adapter_id"], ["adapter.id"], name="fk_adapter_alias_adapter_id_adapter"),
        sa.PrimaryKeyConstraint("id", name="pk_adapter_alias"),
        sa.UniqueConstraint("project_id", "name", name="uq_adapter_alias_project_id_name"),
    )
    op.create_index("ix_adapter_alias_adapter_id", "adapter_alias", ["adapter_id"])
    op.create_table(
        "adapter_alias_change",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("adapter_id", sa.Text(), nullable=True),
        sa.Column("previous_id", sa.Text(), nullable=True),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("requirement", postgresql.JSONB(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name="fk_adapter_alias_change_project_id_project"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_adapter_alias_change"),
    )
    op.create_index(
        "ix_adapter_alias_change_list", "adapter_alias_change", ["project_id", "name", "created_at", "id"]
    )


def downgrade() -> None:
    op.drop_table("adapter_alias_change")
    op.drop_table("adapter_alias")
    op.drop_column("project", "required_card")
