"""The lane of the rewards' tests: a calls worker with a real sandbox."""

from tests.backend.rewards.conftest import lane

__all__ = ["lane"]
