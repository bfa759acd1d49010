"""Projects: their people, invitations, export and deletion."""
