"""users across projects, invitations, scoped keys, audit entries; the role `member` is called `editor`

Members become users with a membership. Browsers that signed in with the address of start-up sign in again: its
holder is a user from now on.

Revises: 0016
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0017"
down_revision: str | Sequence[str] | None = "0016"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "user_account",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("administrator", sa.Boolean(), nullable=False, server_default="false"),
        sa.Column("last_seen_at", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("email", name=op.f("uq_user_account_email")),
    )
    op.execute(
        "INSERT INTO user_account (id, name, last_seen_at, created_at)"
        " SELECT 'user_' || substr(id, 5), name, last_seen_at, created_at FROM member"
    )
    _members()
    _tokens_and_sessions()
    for table in ("api_key", "member"):
        op.execute(f"UPDATE {table} SET role = 'editor' WHERE role = 'member'")
    op.add_column("api_key", sa.Column("scopes", JSONB(none_as_null=True), nullable=True))
    op.add_column("api_key", sa.Column("administrator", sa.Boolean(), nullable=False, server_default="false"))
    op.add_column("api_key", sa.Column("created_by", sa.Text(), nullable=True))
    op.add_column("api_key", sa.Column("expires_at", TIME, nullable=True))
    # There was one project: the owners of keys for it ran the platform.
    op.execute("UPDATE api_key SET administrator = true WHERE role = 'owner'")
    _new_tables()


def _members() -> None:
    op.add_column("member", sa.Column("user_id", sa.Text(), nullable=True))
    op.execute("UPDATE member SET user_id = 'user_' || substr(id, 5)")
    op.alter_column("member", "user_id", nullable=False)
    op.create_foreign_key(
        op.f("fk_member_user_id"), "member", "user_account", ["user_id"], ["id"], ondelete="CASCADE"
    )
    op.create_index(op.f("ix_member_user_id"), "member", ["user_id"])
    op.drop_constraint(op.f("uq_member_project_id_name"), "member", type_="unique")
    op.create_unique_constraint(op.f("uq_member_project_id_user_id"), "member", ["project_id", "user_id"])
    op.drop_column("member", "name")
    op.drop_column("member", "last_seen_at")


def _tokens_and_sessions() -> None:
    op.execute("DELETE FROM sign_in_token WHERE member_id IS NULL")
    op.execute("DELETE FROM browser_session WHERE member_id IS NULL AND key_id IS NULL")
    op.add_column(
        "sign_in_token", sa.Column("purpose", sa.Text(), nullable=False, server_default="sign_in")
    )
    op.add_column("sign_in_token", sa.Column("key_id", sa.Text(), nullable=True))
    op.create_foreign_key(
        op.f("fk_sign_in_token_key_id"), "sign_in_token", "api_key", ["key_id"], ["id"], ondelete="CASCADE"
    )
    for table in ("sign_in_token", "browser_session"):
        op.add_column(table, sa.Column("user_id", sa.Text(), nullable=True))
        op.execute(f"UPDATE {table} SET user_id = 'user_' || substr(member_id, 5) WHERE member_id IS NOT NULL")
        op.create_foreign_key(
            op.f(f"fk_{table}_user_id"), table, "user_account", ["user_id"], ["id"], ondelete="CASCADE"
        )
        op.create_index(op.f(f"ix_{table}_user_id"), table, ["user_id"])
        op.drop_index(op.f(f"ix_{table}_member_id"), table_name=table)
        op.drop_constraint(op.f(f"fk_{table}_member_id"), table, type_="foreignkey")
        op.drop_column(table, "member_id")
        op.drop_column(table, "role")
    op.drop_column("browser_session", "name")
    op.add_column("browser_session", sa.Column("id", sa.Text(), nullable=True))
    op.execute("UPDATE browser_session SET id = 'sess_' || substr(md5(sha256), 1, 24)")
    op.alter_column("browser_session", "id", nullable=False)
    op.create_unique_constraint(op.f("uq_browser_session_id"), "browser_session", ["id"])
    op.add_column("browser_session", sa.Column("agent", sa.Text(), nullable=True))
    op.add_column("browser_session", sa.Column("last_seen_at", TIME, nullable=True))
    op.execute("UPDATE browser_session SET last_seen_at = created_at")
    op.alter_column("browser_session", "last_seen_at", nullable=False)


def _new_tables() -> None:
    op.create_table(
        "invitation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_invitation_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint("sha256", name=op.f("uq_invitation_sha256")),
    )
    op.create_index(op.f("ix_invitation_project_id"), "invitation", ["project_id"])
    op.create_table(
        "sign_in_failure",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("ip", sa.Text(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_failure")),
    )
    op.create_index("ix_sign_in_failure_email", "sign_in_failure", ["email", "at"])
    op.create_index("ix_sign_in_failure_ip", "sign_in_failure", ["ip", "at"])
    op.create_table(
        "audit_entry",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("actor_name", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=True),
        sa.Column("details", JSONB(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_audit_entry_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
    )
    op.create_index("ix_audit_entry_list", "audit_entry", ["project_id", "created_at", "id"])
    op.create_index(op.f("ix_attempt_token_sha256"), "attempt", ["token_sha256"])


def downgrade() -> None:
    op.drop_index(op.f("ix_attempt_token_sha256"), table_name="attempt")
    for table in ("audit_entry", "sign_in_failure", "invitation"):
        op.drop_table(table)
    # The older release knows keys without bounds only, and takes every owner for one who runs the platform.
    op.execute("DELETE FROM api_key WHERE scopes IS NOT NULL OR expires_at IS NOT NULL")
    op.execute("UPDATE api_key SET role = 'member' WHERE role = 'owner' AND NOT administrator")
    for column in ("expires_at", "created_by", "administrator", "scopes"):
        op.drop_column("api_key", column)
    # Sessions and addresses are of the newer kind: people sign in again.
    op.execute("DELETE FROM browser_session")
    op.execute("DELETE FROM sign_in_token")
    op.drop_column("browser_session", "last_seen_at")
    op.drop_column("browser_session", "agent")
    op.drop_column("browser_session", "id")
    op.add_column("browser_session", sa.Column("name", sa.Text(), nullable=False))
    op.drop_constraint(op.f("fk_sign_in_token_key_id"), "sign_in_token", type_="foreignkey")
    op.drop_column("sign_in_token", "key_id")
    op.drop_column("sign_in_token", "purpose")
    for table in ("browser_session", "sign_in_token"):
        op.drop_constraint(op.f(f"fk_{table}_user_id"), table, type_="foreignkey")
        op.drop_column(table, "user_id")
        op.add_column(table, sa.Column("role", sa.Text(), nullable=False))
        op.add_column(table, sa.Column("member_id", sa.Text(), nullable=True))
        op.create_index(op.f(f"ix_{table}_member_id"), table, ["member_id"])
        op.create_foreign_key(
            op.f(f"fk_{table}_member_id"), table, "member", ["member_id"], ["id"], ondelete="CASCADE"
        )
    op.add_column("member", sa.Column("name", sa.Text(), nullable=True))
    op.add_column("member", sa.Column("last_seen_at", TIME, nullable=True))
    op.execute(
        "UPDATE member SET name = user_account.name || ' ' || member.id, last_seen_at = user_account.last_seen_at"
        " FROM user_account WHERE user_account.id = member.user_id"
    )
    op.alter_column("member", "name", nullable=False)
    op.drop_constraint(op.f("uq_member_project_id_user_id"), "member", type_="unique")
    op.create_unique_constraint(op.f("uq_member_project_id_name"), "member", ["project_id", "name"])
    op.drop_constraint(op.f("fk_member_user_id"), "member", type_="foreignkey")
    op.drop_column("member", "user_id")
    op.drop_table("user_account")
    for table in ("api_key", "member"):
        op.execute(f"UPDATE {table} SET role = 'member' WHERE role = 'editor'")
