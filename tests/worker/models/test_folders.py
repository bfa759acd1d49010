"""Folders that may be models; refusals reveal nothing about the others."""

from pathlib import Path

import pytest

from reinforge.errors import InvalidInput
from tests.support.small_models import model_files
from worker.models.folders import OWN, ModelFolders
from worker.models.inspect import inspect_model
from worker.models.sources import ModelStore, model_store
from worker.settings import WorkerSettings


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path, root: Path) -> ModelStore:
    return ModelStore(tmp_path / "home" / "models", ModelFolders((root,), tmp_path / "home"))


def model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, content in model_files().items():
        (folder / name).write_bytes(content)
    return folder


def refusal(store: ModelStore, source: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        inspect_model(str(source), store)
    return caught.value


def test_outside_of_the_roots_there_is_one_answer(tmp_path: Path, root: Path, store: ModelStore) -> None:
    """Whatever is there, or is not: a model, a file, a closed folder, a link below the root."""
    outside = model(tmp_path / "outside")
    (tmp_path / "file").write_text("{}")
    (tmp_path / "closed").mkdir(mode=0o000)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (root / "link").symlink_to(outside)
    (root / "dangling").symlink_to(tmp_path / "missing")
    mixed = model(root / "mixed")
    (mixed / "config.json").unlink()
    (mixed / "config.json").symlink_to(outside / "config.json")
    half = model(root / "half")
    (half / "tokenizer.json").symlink_to(tmp_path / "missing")
    sources = [
        outside, tmp_path / "missing", tmp_path / "file", tmp_path / "closed" / "below", tmp_path / "loop",
        root / "link", root / "dangling", root / ".." / "outside", root / ".." / "missing", mixed, half, tmp_path, "/",
        "/root/.ssh", "/proc/1/root", f"{outside}#template=plain", "/" + "a" * 5000, "~nobody-of-this-name/model",
        f"{root}/nul\0byte",
    ]  # fmt: skip
    refusals = set()
    for source in sources:
        message = refusal(store, source)
        plain = str(source).partition("#")[0]
        assert message.message.count(plain) == 1
        refusals.add((message.code, message.message.replace(plain, "…"), message.hint, message.param))
    assert len(refusals) == 1 and refusals.pop()[0] == "folder_not_allowed"


def test_below_a_root_models_are_read(root: Path, store: ModelStore) -> None:
    """Links that stay there are followed, as the hub's own cache has them."""
    folder = model(root / "blobs")
    linked = root / "snapshot"
    linked.mkdir()
    for path in folder.iterdir():
        (linked / path.name).symlink_to(path)
    for source in (folder, linked, root / "blobs" / ".." / "snapshot"):
        assert inspect_model(str(source), store)["architecture"] == "Qwen3ForCausalLM"
    assert refusal(store, root / "missing").code == "model_not_found"


def test_an_administrator_names_any_folder(tmp_path: Path, store: ModelStore) -> None:
    outside = model(tmp_path / "outside")
    assert inspect_model(str(outside), store, any_folder=True)["parameters"] == 8
    with pytest.raises(InvalidInput) as caught:
        inspect_model(str(tmp_path / "missing"), store, any_folder=True)
    assert caught.value.code == "model_not_found"


def test_downloads_and_runs_are_no_folders_to_name(tmp_path: Path) -> None:
    """A root that holds the home opens neither: what lies there may be another project's."""
    home = tmp_path / "home"
    for roots in ((tmp_path,), (home / "models",)):
        store = ModelStore(home / "models", ModelFolders(roots, home))
        for name in ("models/org--gated@1", "runs/job", "models"):
            if not (folder := home / name).exists():
                model(folder)
            if roots == (tmp_path,) or "models" in name:
                assert refusal(store, folder).code == "folder_not_allowed", (roots, name)


def test_the_roots_are_those_of_the_settings(tmp_path: Path) -> None:
    home, other = tmp_path / "home", model(tmp_path / "other" / "mine")
    store = model_store(WorkerSettings(home=home))
    own = model(home / OWN / "mine")
    assert store.resolve(str(own)) == own
    assert refusal(store, other).code == "folder_not_allowed"
    store = model_store(WorkerSettings(home=home, model_folders=f"{tmp_path}/first: {other.parent}"))
    assert store.resolve(str(other)) == other
    assert refusal(store, own).code == "folder_not_allowed"
    with pytest.raises(InvalidInput, match="absolute") as caught:
        model_store(WorkerSettings(home=home, model_folders="models"))
    assert caught.value.hint


def test_errors_do_not_quote_files(root: Path, store: ModelStore) -> None:
    """What a reader's exception says may quote what it has read."""
    folder = model(root / "mine")
    (folder / "config.json").write_bytes(b"\xc3secret")
    assert refusal(store, folder).message == "config.json cannot be read as JSON: UnicodeDecodeError."
    (folder / "config.json").write_bytes(model_files()["config.json"])
    header = b'{"a": {"dtype": "F32", "shape": ["secret"], "data_offsets": [0, 0]}}'
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    message = refusal(store, folder)
    assert message.code == "damaged_weights" and "secret" not in message.message
