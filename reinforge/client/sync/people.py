# Generated from reinforge/client/aio/people.py by scripts/sync_client.py: change that file.
"""Projects, members, API keys, audit log and usage."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reinforge.client.sync.downloads import save
from reinforge.client.sync.paging import every, iterate
from reinforge.client.sync.transport import Transport
from reinforge.schemas.audit import AuditEntry
from reinforge.schemas.common import Page
from reinforge.schemas.keys import ApiKey, ApiKeyCreated, Role, Scope
from reinforge.schemas.members import Invitation, InvitationMade, Member, MemberInvited
from reinforge.schemas.projects import Project, ProjectAccess, ProjectCreated
from reinforge.schemas.usage import Budget, Period, ProjectUsage, UsageKind


class Projects:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[ProjectAccess]:
        """Projects that this key may see, by name."""
        return Page[ProjectAccess].model_validate(self._transport.get("/projects")).data

    def create(self, name: str, *, with_key: bool = False) -> ProjectCreated:
        """Create a project; `with_key` also creates an owner key for it."""
        body = {"name": name, "with_key": with_key}
        return ProjectCreated.model_validate(self._transport.post("/projects", body))

    def get(self, id: str) -> Project:
        return Project.model_validate(self._transport.get(f"/projects/{id}"))

    def rename(self, id: str, name: str, *, etag: str | None = None) -> Project:
        return Project.model_validate(self._transport.patch(f"/projects/{id}", {"name": name}, etag=etag))

    def require_card(self, id: str, conditions: str | None, *, etag: str | None = None) -> Project:
        """Set the conditions that a report card has to meet for a promotion; None requires nothing. Owners only."""
        body = {"required_card": conditions}
        return Project.model_validate(self._transport.patch(f"/projects/{id}", body, etag=etag))

    def export(self, id: str, to: str | Path) -> Path:
        """Write the project's data to the tar `to`. Owners only."""
        return save(self._transport, f"/projects/{id}/export", to)

    def delete(self, id: str, name: str) -> None:
        """Delete the project with all its data; `name` confirms it."""
        self._transport.request("DELETE", f"/projects/{id}", json={"name": name})


class Keys:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[ApiKey]:
        """Keys that are not revoked, newest first. Owners only."""
        return every(self._transport, "/keys", ApiKey)

    def create(
        self,
        name: str,
        role: Role = "editor",
        *,
        scopes: Sequence[Scope] | None = None,
        expires_in_days: int | None = None,
        administrator: bool = False,
    ) -> ApiKeyCreated:
        """Create a key; only this response has its secret."""
        body: dict[str, Any] = {"name": name, "role": role, "scopes": None if scopes is None else [*scopes]}
        body |= {"expires_in_days": expires_in_days}
        body |= {"administrator": True} if administrator else {}  # servers before it refuse the word
        return ApiKeyCreated.model_validate(self._transport.post("/keys", body))

    def revoke(self, id: str) -> None:
        self._transport.delete(f"/keys/{id}")

    def transfer(self, id: str) -> ApiKey:
        """Take over another member's key before their removal. The secret stays; your rights limit it."""
        return ApiKey.model_validate(self._transport.post(f"/keys/{id}/transfer"))


class Members:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[Member]:
        return every(self._transport, "/members", Member)

    def invite(self, role: Role = "editor", note: str | None = None) -> InvitationMade:
        """Create a one-time address to join the project, valid for seven days."""
        body = {"role": role, "note": note}
        return InvitationMade.model_validate(self._transport.post("/invitations", body))

    def get(self, id: str) -> Member:
        return Member.model_validate(self._transport.get(f"/members/{id}"))

    def change(self, id: str, role: Role, *, etag: str | None = None) -> Member:
        return Member.model_validate(self._transport.patch(f"/members/{id}", {"role": role}, etag=etag))

    def remove(self, id: str) -> None:
        self._transport.delete(f"/members/{id}")

    def sign_in_link(self, id: str) -> MemberInvited:
        """Create a one-time address at which a member signs in."""
        return MemberInvited.model_validate(self._transport.post(f"/members/{id}/sign-in-link"))

    def reset_password(self, id: str) -> MemberInvited:
        """Create a one-time address at which a member sets a new password."""
        return MemberInvited.model_validate(self._transport.post(f"/members/{id}/password-reset"))


class Invitations:
    """Invitations to the project. Owners only."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Iterator[Invitation]:
        return iterate(self._transport, "/invitations", Invitation)

    def create(
        self, role: Role = "editor", *, note: str | None = None, expires_in_days: int = 7
    ) -> InvitationMade:
        """Create a one-time address to join the project."""
        body = {"role": role, "note": note, "expires_in_days": expires_in_days}
        return InvitationMade.model_validate(self._transport.post("/invitations", body))

    def withdraw(self, id: str) -> None:
        self._transport.delete(f"/invitations/{id}")


class AuditLog:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, q: str | None = None) -> Iterator[AuditEntry]:
        """The audit log: changes with their authors, newest first. `q`: words that an entry contains. Owners only."""
        return iterate(self._transport, "/audit", AuditEntry, q=q)


class UsageReports:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, days: int = 30) -> ProjectUsage:
        """Usage of the last `days` days in UTC, including today."""
        return ProjectUsage.model_validate(self._transport.get("/usage", days=days))

    def set_budget(
        self, kind: UsageKind, amount: float, period: Period = "month", *, etag: str | None = None
    ) -> Budget:
        if etag is None:
            usage = self.get(1)
            current = {(budget.kind, budget.period): budget.etag for budget in usage.budgets}
            etag = current.get((kind, period))
        body = {"kind": kind, "amount": amount, "period": period}
        headers = {"if-match": etag} if etag else {}
        answer = self._transport.request("PUT", "/budgets", json=body, headers=headers)
        return Budget.model_validate(answer.json())

    def remove_budget(self, kind: UsageKind, period: Period = "month") -> None:
        self._transport.delete(f"/budgets/{kind}/{period}")
