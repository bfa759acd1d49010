"""Projects, members, invitations."""
