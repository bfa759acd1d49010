"""What projects use, and their budgets. Other rooms count with `add`."""

from backend.usage.service import Kind, add

__all__ = ["Kind", "add"]
