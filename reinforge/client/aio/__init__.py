"""The client for asyncio: the same resources and methods as `reinforge.client`, made from them."""

from reinforge.client.aio.client import AsyncReinforge

__all__ = ["AsyncReinforge"]
