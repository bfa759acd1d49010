"""All resources and methods of the client."""

from reinforge.client.aio.client import AsyncReinforge

__all__ = ["AsyncReinforge"]
