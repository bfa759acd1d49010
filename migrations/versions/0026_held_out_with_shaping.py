"""which jobs have the algorithm's shaping in their held-out figures

Revises: 0025
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0026"
down_revision: str | Sequence[str] | None = "0025"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

SHAPING = "resolved_spec #> '{algorithm,shaping}'"
TERMS = ("soft_overlong", "repetition", "cosine_length")


def upgrade() -> None:
    op.add_column(
        "job",
        sa.Column("held_out_includes_shaping", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    # Until now held-out rewards had these terms and combinations in them. Standardising ones had not.
    terms = " OR ".join(f"({SHAPING} #>> '{{{term},weight}}')::float > 0" for term in TERMS)
    op.execute(
        "UPDATE job SET held_out_includes_shaping = true WHERE held_out_reward IS NOT NULL AND ("
        f"({SHAPING} ->> 'type') NOT IN ('weighted_sum', 'mo_grpo', 'gdpo') OR {terms})"
    )


def downgrade() -> None:
    op.drop_column("job", "held_out_includes_shaping")
