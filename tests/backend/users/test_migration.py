"""Members of before there were users: each becomes a user with a membership, and stays signed in."""

import psycopg
from alembic import command

from backend.data.migrate import alembic_config, upgrade

BEFORE = "0016"


def test_members_become_users_with_a_membership(empty_database_url: str) -> None:
    config = alembic_config(empty_database_url)
    command.upgrade(config, BEFORE)
    with psycopg.connect(empty_database_url, autocommit=True) as database:
        for statement in (
            "INSERT INTO project (id, name, created_at) VALUES ('proj_1', 'default', now())",
            "INSERT INTO member (id, project_id, name, role, last_seen_at, created_at)"
            " VALUES ('mem_ada', 'proj_1', 'Ada', 'member', now(), now()),"
            " ('mem_bob', 'proj_1', 'Bob', 'viewer', NULL, now())",
            "INSERT INTO api_key (id, project_id, name, role, sha256, prefix, created_at)"
            " VALUES ('key_1', 'proj_1', 'ci', 'member', 'k', 'rf-', now()),"
            " ('key_2', 'proj_1', 'boss', 'owner', 'o', 'rf-', now())",
            "INSERT INTO browser_session (sha256, project_id, key_id, member_id, name, role, expires_at, created_at)"
            " VALUES ('a', 'proj_1', NULL, 'mem_ada', 'Ada', 'member', now() + interval '1 day', now()),"
            " ('k', 'proj_1', 'key_1', NULL, 'ci', 'member', now() + interval '1 day', now()),"
            " ('s', 'proj_1', NULL, NULL, 'owner', 'owner', now() + interval '1 day', now())",
            "INSERT INTO sign_in_token (sha256, project_id, member_id, role, expires_at, created_at)"
            " VALUES ('t', 'proj_1', 'mem_bob', 'viewer', now() + interval '1 day', now())",
        ):
            database.execute(statement.encode())
        upgrade(empty_database_url)
        people = database.execute(
            "SELECT user_account.name, member.role, administrator, user_account.last_seen_at IS NULL"
            " FROM member JOIN user_account ON user_account.id = user_id ORDER BY 1"
        ).fetchall()
        assert people == [("Ada", "editor", False, False), ("Bob", "viewer", False, True)]
        keys = database.execute("SELECT name, role, administrator FROM api_key ORDER BY 1").fetchall()
        assert keys == [("boss", "owner", True), ("ci", "editor", False)]
        sessions = database.execute(
            "SELECT sha256, user_id, key_id FROM browser_session ORDER BY 1"
        ).fetchall()
        assert sessions == [("a", "user_ada", None), ("k", None, "key_1")]
        assert database.execute("SELECT user_id FROM sign_in_token").fetchall() == [("user_bob",)]
        command.downgrade(config, BEFORE)
        names = database.execute("SELECT name, role FROM member ORDER BY 1").fetchall()
        assert [(name.split()[0], role) for name, role in names] == [("Ada", "member"), ("Bob", "viewer")]
