"""rollouts of agents, and model calls that trainers answer

Revises: 0046
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0047"
down_revision: str | Sequence[str] | None = "0046"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_JSON = postgresql.JSONB(none_as_null=True)
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "agent_rollout",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("task", _JSON, nullable=False),
        sa.Column("limits", _JSON, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("try_no", sa.BigInteger(), nullable=False),
        sa.Column("key_sha256", sa.Text(), nullable=True),
        sa.Column("runner", sa.Text(), nullable=True),
        sa.Column("heartbeat_at", _TIME, nullable=True),
        sa.Column("deadline", _TIME, nullable=True),
        sa.Column("outcome", _JSON, nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.CheckConstraint("state IN ('waiting', 'taken', 'ended')", name=op.f("ck_agent_rollout_state")),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name=op.f("fk_agent_rollout_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_rollout")),
    )
    op.create_index("ix_agent_rollout_job", "agent_rollout", ["job_id", "attempt", "state", "created_at"])
    op.create_index("ix_agent_rollout_key", "agent_rollout", ["key_sha256"], unique=True)
    op.create_table(
        "model_call",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("payload", _JSON, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("deadline", _TIME, nullable=False),
        sa.Column("result", _JSON, nullable=True),
        sa.Column("error", _JSON, nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.CheckConstraint("state IN ('waiting', 'taken', 'answered')", name=op.f("ck_model_call_state")),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name=op.f("fk_model_call_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_call")),
        prefixes=["UNLOGGED"],  # a call ends with the connection of its caller
    )
    op.create_index("ix_model_call_job", "model_call", ["job_id", "attempt", "state", "created_at"])
    op.create_index("ix_model_call_caller", "model_call", ["caller"])
    op.create_index("ix_model_call_deadline", "model_call", ["deadline"])


def downgrade() -> None:
    op.drop_table("model_call")
    op.drop_table("agent_rollout")
