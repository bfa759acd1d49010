"""GET, POST /members · PATCH, DELETE /members/{id} · POST /members/{id}/sign-in-link · GET /project/counts."""

from fastapi import APIRouter

from backend.auth import Reader, Writer
from backend.strict_json import StrictRoute
from reinforge.schemas.common import Page
from reinforge.schemas.members import Member, MemberCreate, MemberInvited, MemberUpdate, ProjectCounts

router = APIRouter(prefix="/api/v1", tags=["project"], route_class=StrictRoute)


@router.get("/project/counts", operation_id="getProjectCounts")
async def counts(who: Reader) -> ProjectCounts:
    """How many things the project holds."""
    raise NotImplementedError


@router.get("/members", operation_id="listMembers")
async def list_members(who: Reader) -> Page[Member]:
    """People who may sign in, newest first."""
    raise NotImplementedError


@router.post("/members", status_code=201, operation_id="createMember")
async def create_member(body: MemberCreate, who: Writer) -> MemberInvited:
    """Add a person; the answer holds the one-time address to give to them. For owners."""
    raise NotImplementedError


@router.patch("/members/{id}", operation_id="updateMember")
async def update_member(id: str, body: MemberUpdate, who: Writer) -> Member:
    """Change the role; open sessions have it at once. For owners."""
    raise NotImplementedError


@router.delete("/members/{id}", status_code=204, operation_id="removeMember")
async def remove_member(id: str, who: Writer) -> None:
    """Remove a person and end their sessions. For owners."""
    raise NotImplementedError


@router.post("/members/{id}/sign-in-link", operation_id="createMemberSignInLink")
async def create_link(id: str, who: Writer) -> MemberInvited:
    """A fresh one-time address for a person whose last one is used up. For owners."""
    raise NotImplementedError
