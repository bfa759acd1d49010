"""Models from a hub: the real client library against a small server that speaks the hub's protocol."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.errors import InvalidInput, Unavailable
from tests.support.hub_stub import COMMIT, HubStub, Repository
from tests.support.small_models import model_files
from worker.models.hub import bytes_there
from worker.models.sources import ModelStore

MANY_ROWS = 12 * 65_536
"""12 MiB: the library keeps what it has downloaded in pieces of 10 MiB."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubStub]:
    stub = HubStub()
    monkeypatch.setenv("HF_ENDPOINT", stub.url)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    yield stub
    stub.close()


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "store")


def test_a_revision_is_pinned_and_only_what_is_needed_is_downloaded(hub: HubStub, store: ModelStore) -> None:
    extra = {"pytorch_model.bin": b"pickle", "modeling.py": b"code", "onnx/model.onnx": b"x"}
    hub.repositories["org/name"] = Repository(model_files() | extra)
    begun: list[tuple[Path, int]] = []
    location = store.find("hub:org/name@v1", begun=lambda target, total: begun.append((target, total)))
    assert (location.source, location.commit) == (f"hub:org/name@{COMMIT}", COMMIT)
    assert {name for name, _ in hub.downloads()} == model_files().keys()
    assert begun == [(location.folder, sum(map(len, model_files().values())))]
    assert bytes_there(location.folder) >= begun[0][1]
    assert not (location.folder / "pytorch_model.bin").exists()


def test_a_download_gives_signs_of_life(hub: HubStub, store: ModelStore) -> None:
    hub.repositories["org/name"] = Repository(model_files(rows=MANY_ROWS))
    beats: list[int] = []
    store.resolve("hub:org/name", on_progress=lambda: beats.append(1))
    assert len(beats) > len(model_files()), "more than one for each file"


def test_what_is_complete_needs_no_hub(hub: HubStub, store: ModelStore) -> None:
    hub.repositories["org/name"] = Repository(model_files())
    folder = store.resolve("hub:org/name")
    request_count = len(hub.requests)
    hub.away = True
    assert store.resolve(f"hub:org/name@{COMMIT}") == folder
    assert len(hub.requests) == request_count
    with pytest.raises(Unavailable, match="cannot be downloaded"):  # whatever main is by now
        store.resolve("hub:org/name@main")


def test_a_download_that_broke_off_goes_on_where_it_stopped(hub: HubStub, store: ModelStore) -> None:
    files = model_files(rows=MANY_ROWS)
    cut = 11 << 20
    hub.repositories["org/name"] = Repository(files, cut={"model.safetensors": cut})
    folder = store.resolve("hub:org/name")
    assert (folder / "model.safetensors").read_bytes() == files["model.safetensors"]
    ranges = [byte_range for name, byte_range in hub.downloads() if name == "model.safetensors"]
    assert ranges[0] is None
    assert ranges[-1] == f"bytes={10 << 20}-"  # the whole pieces that had arrived


def test_a_folder_that_is_there_in_part_is_not_taken_for_the_model(hub: HubStub, store: ModelStore) -> None:
    """Without the hub the library is content with whatever lies in the folder."""
    hub.repositories["org/name"] = Repository(model_files())
    target = store.target("org/name", COMMIT)
    target.mkdir(parents=True)
    (target / "config.json").write_text("{}")
    hub.away = True
    with pytest.raises(Unavailable) as caught:
        store.resolve(f"hub:org/name@{COMMIT}")
    assert caught.value.code == "hub_unavailable"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"config.json": b"{}", "pytorch_model.bin": b"x"}, "unsafe_weights"),
        ({"config.json": b"{}", "model.gguf": b"x"}, "not_a_model"),
        ({"config.json": b"{}", "nested/model.safetensors": b"x"}, "not_a_model"),
    ],
    ids=["pickles", "gguf", "nested"],
)
def test_what_has_no_safetensors_is_refused_before_anything_is_downloaded(
    hub: HubStub, store: ModelStore, files: dict[str, bytes], code: str
) -> None:
    hub.repositories["org/name"] = Repository(files)
    with pytest.raises(InvalidInput) as caught:
        store.resolve("hub:org/name")
    assert (caught.value.code, caught.value.param, bool(caught.value.hint)) == (code, "source", True)
    assert hub.downloads() == []


def test_private_and_gated_models_need_their_token(hub: HubStub, store: ModelStore) -> None:
    hub.repositories["org/secret"] = Repository(model_files(), token="hf_right")
    hub.repositories["org/gated"] = Repository(model_files(), token="hf_right", gated=True)
    for name, token, code in (
        ("org/none", None, "model_not_found"),
        ("org/secret", None, "model_not_found"),
        ("org/secret", "hf_wrong", "model_not_found"),
        ("org/gated", None, "model_gated"),
        ("org/gated@v9", "hf_right", "model_not_found"),
    ):
        with pytest.raises(InvalidInput) as caught:
            store.resolve(f"hub:{name}", token=token)
        assert (caught.value.code, "token" in (caught.value.hint or "")) == (code, True), name
    assert store.resolve("hub:org/secret", token="hf_right").is_dir()
    assert store.resolve("hub:org/gated", token="hf_right").is_dir()


def test_a_download_opens_for_nobody_else(hub: HubStub, store: ModelStore) -> None:
    """Neither by its commit nor by a branch, without a token or with a wrong one; a good one is asked for once."""
    files = model_files()
    hub.repositories["org/gated"] = Repository(files, token="hf_right", gated=True)
    hub.repositories["org/hidden"] = Repository(files, token="hf_right")
    for name, code in (("org/gated", "model_gated"), ("org/hidden", "model_not_found")):
        folder = store.resolve(f"hub:{name}", token="hf_right")
        for source in (f"hub:{name}@{COMMIT}", f"hub:{name}", f"hub:{name}@{COMMIT}#template=plain"):
            for token in (None, "hf_wrong"):
                with pytest.raises(InvalidInput) as caught:
                    store.resolve(source, token=token)
                assert caught.value.code == code, (source, token)
        # A model that was added with it, perhaps on another worker, is used without the hub.
        request_count = len(hub.requests)
        assert store.resolve(f"hub:{name}@{COMMIT}", added=True) == folder
        assert store.resolve(f"hub:{name}@{COMMIT}", token="hf_right") == folder
        assert len(hub.requests) == request_count
    hub.repositories["org/gated"].token = "hf_new"
    for _ in range(2):
        assert store.resolve(f"hub:org/gated@{COMMIT}", token="hf_new").is_dir()
        hub.away = True


def test_access_to_a_download_of_an_older_version_is_checked_again(hub: HubStub, store: ModelStore) -> None:
    """It says nothing of whom it was given out to."""
    hub.repositories["org/gated"] = Repository(model_files(), token="hf_right", gated=True)
    folder = store.resolve("hub:org/gated", token="hf_right")
    (folder / ".reinforge-access").unlink()
    with pytest.raises(InvalidInput, match="gated"):
        store.resolve(f"hub:org/gated@{COMMIT}")
    assert store.resolve(f"hub:org/gated@{COMMIT}", token="hf_right") == folder


def test_an_absent_hub_is_no_fault_of_the_name(store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(Unavailable) as caught:
        store.resolve("hub:org/name")
    assert caught.value.code == "hub_unavailable"
