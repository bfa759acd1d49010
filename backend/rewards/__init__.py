"""Rewards and their immutable revisions. Source text is only ever looked at by a sandbox, through the calls lane."""
