"""who made keys, invitations and addresses: they end with that person's rights

Revises: 0028
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0029"
down_revision: str | Sequence[str] | None = "0028"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TABLES = ("api_key", "invitation", "sign_in_token")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("maker_id", sa.Text(), nullable=True))
        op.create_foreign_key(
            f"fk_{table}_maker_id",
            table,
            "user_account",
            ["maker_id"],
            ["id"],
            ondelete="CASCADE",
        )
        op.create_index(f"ix_{table}_maker_id", table, ["maker_id"])
    op.add_column(
        "sign_in_token", sa.Column("bound", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    # So far a maker was known by name: where one member of the project has it, it is them.
    for table in ("api_key", "invitation"):
        op.execute(
            f"UPDATE {table} SET maker_id = named.user_id FROM ("
            " SELECT member.project_id, user_account.name, min(member.user_id) AS user_id FROM member"
            " JOIN user_account ON user_account.id = member.user_id"
            " GROUP BY member.project_id, user_account.name HAVING count(*) = 1"
            f") AS named WHERE named.project_id = {table}.project_id AND named.name = {table}.created_by"
        )
    # An owner's address for another person does not say whose it is: it is made again.
    op.execute(
        "UPDATE sign_in_token SET bound = true WHERE user_id IS NOT NULL AND purpose IN ('sign_in', 'reset')"
    )


_MAY_STILL = """EXISTS (SELECT FROM user_account u LEFT JOIN member m ON m.user_id = u.id AND m.project_id = {t}.project_id
    WHERE u.id = {t}.maker_id AND (u.administrator OR m.role = 'owner' OR m.role = {role}))"""


def downgrade() -> None:
    # The older release does not look at the maker's rights: what they bound now may not come back to life.
    may_still = _MAY_STILL.format(t="api_key", role="api_key.role")
    op.execute(
        "UPDATE api_key SET revoked_at = now() WHERE revoked_at IS NULL AND maker_id IS NOT NULL"
        f" AND role <> 'viewer' AND NOT {may_still}"
    )
    op.execute(
        "UPDATE api_key SET revoked_at = now() WHERE revoked_at IS NULL AND maker_id IS NOT NULL AND NOT EXISTS"
        " (SELECT FROM member m WHERE m.user_id = maker_id AND m.project_id = api_key.project_id)"
        " AND NOT EXISTS (SELECT FROM user_account u WHERE u.id = maker_id AND u.administrator)"
    )
    may_still = _MAY_STILL.format(t="invitation", role="'owner'")
    op.execute(f"DELETE FROM invitation WHERE maker_id IS NOT NULL AND NOT {may_still}")
    op.execute("DELETE FROM sign_in_token WHERE bound")
    op.drop_column("sign_in_token", "bound")
    for table in TABLES:
        op.drop_index(f"ix_{table}_maker_id", table)
        op.drop_constraint(f"fk_{table}_maker_id", table, type_="foreignkey")
        op.drop_column(table, "maker_id")
