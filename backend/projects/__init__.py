"""Projects: members, invitations, export and deletion."""
