"""Secrets at rest."""

from pathlib import Path

import pytest

from backend.data.sealing import Sealer
from backend.settings import Settings
from reinforge.errors import Unavailable


def sealer(home: Path, key: str | None = None) -> Sealer:
    return Sealer(Settings(home=home, secret_key=key))


def test_what_is_sealed_opens_again_for_the_same_use_alone(tmp_path: Path) -> None:
    one = sealer(tmp_path)
    sealed = one.seal("judge:1", "sk-secret")
    assert "sk-secret" not in sealed
    assert sealer(tmp_path).open("judge:1", sealed) == "sk-secret"
    with pytest.raises(Unavailable) as caught:
        one.open("judge:2", sealed)
    assert caught.value.code == "secret_unreadable"


def test_the_key_is_a_private_file_or_the_environments(tmp_path: Path) -> None:
    sealer(tmp_path)
    assert (tmp_path / "secret-key").stat().st_mode & 0o777 == 0o600
    first, other = sealer(tmp_path, "one"), sealer(tmp_path, "two")
    with pytest.raises(Unavailable, match="secret key"):
        other.open("x", first.seal("x", "s"))
    assert first.derived("a") != first.derived("b") != other.derived("b")
