# Generated from reinforge/client/aio/__init__.py by scripts/sync_client.py: change that file.
"""All resources and methods of the client."""

from reinforge.client.sync.client import Reinforge

__all__ = ["Reinforge"]
