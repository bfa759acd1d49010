"""One behaviour for every object store: a folder, and a real S3 server over HTTP."""

import errno
import io
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reinforge.errors import InvalidInput
from reinforge.storage import (
    LocalStore,
    ObjectConflict,
    ObjectNotFound,
    ObjectStore,
    S3Store,
    StorageError,
    check_key,
    content_key,
    open_store,
)


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "folder":
        return open_store((tmp_path / "objects").as_uri())
    bucket = request.getfixturevalue("s3_bucket")
    endpoint = request.getfixturevalue("s3_endpoint")
    return open_store(f"s3://{bucket}/some/prefix", s3_endpoint_url=endpoint)


class TestEveryStore:
    def test_bytes_come_back(self, store: ObjectStore) -> None:
        store.put("a/b", b"hello")
        assert store.get("a/b") == b"hello"
        assert store.size("a/b") == 5
        assert store.exists("a/b")
        assert not store.exists("a")
        assert not store.exists("a/b/c")

    def test_an_empty_object_is_an_object(self, store: ObjectStore) -> None:
        store.put("empty", b"")
        assert (store.get("empty"), store.size("empty")) == (b"", 0)

    def test_a_stream_is_stored_from_where_it_stands(self, store: ObjectStore) -> None:
        stream = io.BytesIO(b"skipped kept")
        stream.seek(8)
        store.put("a", stream)
        assert store.get("a") == b"kept"

    def test_files_in_and_out(self, store: ObjectStore, tmp_path: Path) -> None:
        source, target = tmp_path / "in", tmp_path / "out"
        source.write_bytes(os.urandom(9 * 1024 * 1024))  # more than one part of a multipart upload
        store.put_file("big", source)
        store.get_file("big", target)
        assert target.read_bytes() == source.read_bytes()
        assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["in", "out"]

    def test_open_streams(self, store: ObjectStore) -> None:
        store.put("a", b"one\ntwo\nthree")
        with store.open("a") as stream:
            assert stream.read(2) == b"on"
            assert stream.readline() == b"e\n"
            assert list(stream) == [b"two\n", b"three"]

    def test_the_same_content_again_changes_nothing(self, store: ObjectStore, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"x" * 2_000_000)
        store.put("a", path.read_bytes())
        before = list(store.list())
        store.put("a", path.read_bytes())
        store.put("a", io.BytesIO(path.read_bytes()))
        store.put_file("a", path)
        assert list(store.list()) == before

    def test_other_content_is_a_conflict(self, store: ObjectStore, tmp_path: Path) -> None:
        path = tmp_path / "file"
        store.put("a", b"123")
        for other in (b"", b"12", b"124", b"1234"):
            path.write_bytes(other)
            with pytest.raises(ObjectConflict):
                store.put("a", other)
            with pytest.raises(ObjectConflict):
                store.put("a", io.BytesIO(other))
            with pytest.raises(ObjectConflict):
                store.put_file("a", path)
        assert store.get("a") == b"123"

    def test_missing_objects(self, store: ObjectStore, tmp_path: Path) -> None:
        store.put("here/it", b"1")
        for key in ("gone", "here", "here/it/not"):
            for call in (store.get, store.open, store.size):
                with pytest.raises(ObjectNotFound):
                    call(key)
            with pytest.raises(ObjectNotFound):
                store.get_file(key, tmp_path / "out")
            store.delete(key)
        assert not (tmp_path / "out").exists()
        assert store.get("here/it") == b"1"

    def test_delete(self, store: ObjectStore) -> None:
        store.put("a/b", b"1")
        store.put("a/c", b"2")
        store.delete("a/b")
        assert not store.exists("a/b")
        assert [item.key for item in store.list()] == ["a/c"]
        store.put("a/b", b"other content is fine after deletion")

    def test_list_is_by_prefix_and_in_the_order_of_keys(self, store: ObjectStore) -> None:
        keys = ["a-b", "a/b", "a/b-c/d", "a/b/c", "ab", "b"]
        keys.remove("a/b")  # a key is not the parent of another
        for number, key in enumerate(keys):
            store.put(key, b"x" * number)
        listed = list(store.list())
        assert [item.key for item in listed] == sorted(keys)
        assert [item.size for item in listed] == [keys.index(item.key) for item in listed]
        assert all(1.6e9 < item.modified_at < 1e11 for item in listed)
        for prefix in ("a", "a/", "a/b", "a/b/", "a/b-", "b", "c", "nothing/here/"):
            expected = sorted(key for key in keys if key.startswith(prefix))
            assert [item.key for item in store.list(prefix)] == expected, prefix

    def test_list_goes_beyond_one_page(self, store: ObjectStore) -> None:
        for number in range(30):
            store.put(f"k/{number:03}", b"")
        if isinstance(store, S3Store):
            paginator = store._client.get_paginator
            store._client.get_paginator = lambda name: _SmallPages(paginator(name))
        assert [item.key for item in store.list("k/")] == [f"k/{number:03}" for number in range(30)]

    def test_presigned_urls_work_or_are_absent(self, store: ObjectStore) -> None:
        store.put("a", b"hello")
        put_url, get_url = store.presigned_put("new/b"), store.presigned_get("a", filename="träin 1.jsonl")
        if isinstance(store, LocalStore):
            assert put_url is None
            assert get_url is None
            return
        assert put_url is not None and get_url is not None
        answer = httpx.get(get_url)
        assert answer.content == b"hello"
        assert "tr%C3%A4in%201.jsonl" in answer.headers["content-disposition"]
        assert httpx.put(put_url, content=b"uploaded").status_code == 200
        assert store.get("new/b") == b"uploaded"

    def test_bad_keys_reach_no_store(self, store: ObjectStore, tmp_path: Path) -> None:
        calls = (store.get, store.open, store.size, store.exists, store.delete, store.presigned_get)
        for key in ("", "/a", "a/", "a//b", "../a", "a/../b", ".tmp/a", "a\0", "a b", "ä", "a\n"):
            for call in calls:
                with pytest.raises(InvalidInput) as caught:
                    call(key)
                assert caught.value.code == "invalid_key"
            with pytest.raises(InvalidInput):
                store.put(key, b"1")
            with pytest.raises(InvalidInput):
                store.get_file(key, tmp_path / "out")


class _SmallPages:
    def __init__(self, paginator: Any) -> None:
        self._paginator = paginator

    def paginate(self, **arguments: Any) -> Any:
        return self._paginator.paginate(**arguments, PaginationConfig={"PageSize": 7})


@given(
    st.text(max_size=40) | st.lists(st.sampled_from(["..", ".", "", "a", "b.c", "-", "a\\b"])).map("/".join)
)
def test_an_accepted_key_stays_below_the_root(key: str) -> None:
    try:
        check_key(key)
    except InvalidInput:
        return
    root = "/store/root"
    assert os.path.normpath(f"{root}/{key}") == f"{root}/{key}"
    assert key.isascii() and key.isprintable() and "\\" not in key
    assert not any(part.startswith(".") for part in key.split("/"))


def test_long_keys() -> None:
    assert check_key("a" * 200 + "/b")
    for key in ("a" * 201, "/".join(["a" * 100] * 10)):
        with pytest.raises(InvalidInput):
            check_key(key)


@pytest.mark.parametrize("prefix", ["../", "/etc", "a/../..", "./a", "a\0"])
def test_bad_prefixes(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(InvalidInput):
        LocalStore(tmp_path).list(prefix)


def test_content_key() -> None:
    digest = "0f" + "a" * 62
    assert content_key("datasets", digest) == f"datasets/0f/{digest}"
    for bad in ("", "0F" + "a" * 62, digest + "0", "../" + "a" * 61):
        with pytest.raises(InvalidInput):
            content_key("datasets", bad)


@pytest.mark.parametrize("url", ["", "/data", "file://host/data", "file:relative", "s3://", "gs://bucket"])
def test_other_addresses_are_refused_with_what_to_do(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_store(url)
    assert caught.value.code == "invalid_storage_url"
    assert "s3://" in (caught.value.hint or "")


def test_a_folder_with_blanks_in_its_name(tmp_path: Path) -> None:
    store = open_store((tmp_path / "my data").as_uri())
    store.put("a", b"1")
    assert (tmp_path / "my data" / "a").read_bytes() == b"1"


class _FullDisk(io.BytesIO):
    """A source whose copying ends as a full disk would end it."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(10)
        if not data:
            raise OSError(errno.ENOSPC, "No space left on device")
        return data


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    with pytest.raises(StorageError) as caught:
        store.put("a/b", _FullDisk(b"x" * 100))
    assert (caught.value.code, caught.value.status) == ("storage_full", 503)
    assert caught.value.hint
    assert not store.exists("a/b")
    assert files_in(tmp_path) == []


def test_a_write_that_fails_midway_leaves_nothing(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise ConnectionResetError("the upload was cut off")

    store = LocalStore(tmp_path)
    with pytest.raises(StorageError):
        store.put("a", Broken())
    assert files_in(tmp_path) == []


def test_the_loser_of_a_race_does_not_overwrite(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)

    class WritesBetween(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            if not data and not store.exists("a"):
                store.put("a", b"first")
            return data

    store.put("a", WritesBetween(b"first"))
    store.delete("a")
    with pytest.raises(ObjectConflict):
        store.put("a", WritesBetween(b"second"))
    assert store.get("a") == b"first"
    assert [path.name for path in files_in(tmp_path)] == ["a"]


def test_without_hard_links_files_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    store = LocalStore(tmp_path)
    store.put("a/b", io.BytesIO(b"1"))
    store.put("a/b", io.BytesIO(b"1"))
    with pytest.raises(ObjectConflict):
        store.put("a/b", io.BytesIO(b"2"))
    assert files_in(tmp_path) == [tmp_path / "a" / "b"]


def test_a_key_is_not_the_parent_of_another_in_a_folder(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("a/b", b"1")
    for key in ("a", "a/b/c"):
        with pytest.raises(ObjectConflict):
            store.put(key, b"1")
    assert [item.key for item in store.list()] == ["a/b"]


def test_leftovers_of_killed_writers_are_removed_after_a_day(tmp_path: Path) -> None:
    LocalStore(tmp_path)
    old, young = tmp_path / ".tmp" / "old", tmp_path / ".tmp" / "young"
    for path in (old, young):
        path.write_bytes(b"")
    os.utime(old, (1e9, 1e9))
    assert list(LocalStore(tmp_path).list()) == []
    assert files_in(tmp_path) == [young]


def test_stores_in_one_bucket_see_their_own_prefix_only(s3_bucket: str, s3_endpoint: str) -> None:
    whole, part = (
        open_store(f"s3://{s3_bucket}{prefix}", s3_endpoint_url=s3_endpoint) for prefix in ("", "/part/")
    )
    whole.put("partly", b"1")
    part.put("a", b"2")
    assert [item.key for item in whole.list()] == ["part/a", "partly"]
    assert [item.key for item in part.list()] == ["a"]
    assert whole.get("part/a") == b"2"


def test_a_missing_bucket_says_what_to_do(s3_bucket: str, s3_endpoint: str) -> None:
    with pytest.raises(StorageError) as caught:
        open_store("s3://no-such-bucket", s3_endpoint_url=s3_endpoint).put("a", b"1")
    assert caught.value.hint == "Create the bucket first."


def test_an_s3_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    store = S3Store("bucket", endpoint_url="http://127.0.0.1:9")
    with pytest.raises(StorageError) as caught:
        store.get("a")
    assert caught.value.code == "storage_unavailable"
    assert "S3_ENDPOINT_URL" in (caught.value.hint or "")
