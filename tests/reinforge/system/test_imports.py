"""The garbage collector during imports."""

import gc

import pytest

from reinforge.system.imports import without_collection


def test_the_collector_is_off_for_the_block_alone() -> None:
    assert gc.isenabled()
    with without_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_on_again_after_an_import_that_fails() -> None:
    with pytest.raises(ImportError), without_collection():
        raise ImportError
    assert gc.isenabled()


def test_who_has_turned_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
