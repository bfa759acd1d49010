"""The inspection of model files, compared with the model that wrote them."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, PretrainedConfig, Qwen3Config

from reinforge.errors import InvalidInput
from tests.support.tiny_models import write_tiny_model
from worker.isolated.process import Apart
from worker.models.architectures import causal_models
from worker.models.folders import ModelFolders
from worker.models.inspect import inspect_model, read_tensors
from worker.models.licence import find_licence
from worker.models.sources import ModelStore
from worker.policy.load import load_base_model
from worker.reward_models.load import Shelf

_SIZES = {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
CONFIGURATIONS = [
    Qwen3Config(
        **_SIZES, num_key_value_heads=2, head_dim=8, intermediate_size=48, max_position_embeddings=512,
        tie_word_embeddings=True,
    ),
    LlamaConfig(**_SIZES, num_key_value_heads=2, intermediate_size=48, max_position_embeddings=256),
    GPT2Config(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=128),
]  # fmt: skip


def causal_scorer(folder: Path) -> object:
    return Shelf().language_model(str(folder))


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "store", ModelFolders((tmp_path,)))


@pytest.mark.filterwarnings("ignore:fan_in_fan_out", "ignore:.*is_gradient_checkpointing")
@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda config: config.model_type)
@pytest.mark.parametrize("shards", ["1GB", "20KB"])
def test_the_facts_are_those_of_the_loaded_model(
    tmp_path: Path, store: ModelStore, config: PretrainedConfig, shards: str
) -> None:
    model = AutoModelForCausalLM.from_config(config)
    folder = tmp_path / "model"
    model.save_pretrained(folder, max_shard_size=shards)
    facts = inspect_model(str(folder), store)
    assert facts["architecture"] == type(model).__name__
    assert facts["parameters"] == model.num_parameters()
    assert facts["context_length"] == config.max_position_embeddings
    assert facts["vocabulary"] == 96
    assert facts["has_chat_template"] is False
    assert facts["bytes"] >= 4 * facts["parameters"]

    adapted = get_peft_model(model, LoraConfig(target_modules="all-linear"))
    theirs = {name.split(".lora_A")[0].split(".")[-1] for name in adapted.state_dict() if ".lora_A" in name}
    assert facts["lora_targets"] == sorted(theirs)
    # An adapter has as many parameters as the estimate of memory takes for granted.
    ranks = {parameter.shape[0] for name, parameter in adapted.named_parameters() if "lora_A" in name}
    trainable = sum(parameter.numel() for parameter in adapted.parameters() if parameter.requires_grad)
    assert [facts["shape"]["lora_per_rank"] * rank for rank in ranks] == [trainable]
    assert (facts["shape"]["layers"], facts["shape"]["hidden"], facts["shape"]["head_dim"]) == (2, 32, 8)


def test_the_hash_follows_the_content(tmp_path: Path, store: ModelStore) -> None:
    folder = small_model(tmp_path / "a")
    first = store.content_hash(folder)
    (folder / "README.md").write_text("a card changes nothing")
    assert store.content_hash(folder) == first
    assert store.content_hash(small_model(tmp_path / "b")) == first
    assert ModelStore(tmp_path / "another").content_hash(folder) == first
    (folder / "config.json").write_text('{"model_type": "other"}')
    assert store.content_hash(folder) != first


def small_model(folder: Path) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    save_file({"layer.weight": torch.zeros(2, 3)}, folder / "model.safetensors")
    return folder


def refusal(source: object, store: ModelStore) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        inspect_model(str(source), store)
    assert caught.value.param == "source"
    return caught.value


def test_what_is_no_model_is_refused_with_what_to_do(tmp_path: Path, store: ModelStore) -> None:
    assert refusal("some/relative/folder", store).code == "model_not_found"
    assert refusal("builtin:other", store).code == "model_not_found"
    assert refusal("hub:no-slash", store).code == "model_not_found"
    assert refusal("hub:../../etc@main", store).code == "model_not_found"
    assert refusal(tmp_path / "missing", store).code == "model_not_found"
    folder = tmp_path / "model"
    folder.mkdir()
    assert refusal(folder, store).code == "not_a_model"
    (folder / "config.json").write_text("{}")
    assert refusal(folder, store).code == "not_a_model"
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    error = refusal(folder, store)
    assert error.code == "unsafe_weights"
    assert "safetensors" in (error.hint or "")


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"model_type": "t5"}, "unknown_architecture"),
        ({"model_type": "brand-new"}, "unknown_architecture"),
        ({"architectures": ["X"]}, "unknown_architecture"),
        ({"model_type": "mine", "auto_map": {"AutoModelForCausalLM": "modeling_mine.X"}}, "runs_code"),
    ],
    ids=["no language model that continues", "unknown", "unnamed", "code of its own"],
)
def test_an_architecture_that_nothing_here_can_run_is_refused(
    tmp_path: Path, store: ModelStore, config: dict[str, object], code: str
) -> None:
    folder = small_model(tmp_path / "model")
    (folder / "config.json").write_text(json.dumps(config))
    assert refusal(folder, store).code == code


@pytest.mark.parametrize("loads", [load_base_model, causal_scorer], ids=["policy", "reward"])
def test_code_of_a_supported_architecture_is_not_run(tmp_path: Path, loads: Callable[[Path], object]) -> None:
    folder = write_tiny_model(tmp_path / "model")
    ran = tmp_path / "ran"
    (folder / "theirs.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Theirs: ...\n")
    theirs = "theirs.Theirs"
    for name, classes in {
        "config.json": {"AutoConfig": theirs, "AutoModelForCausalLM": theirs},
        "tokenizer_config.json": {"AutoTokenizer": [None, theirs]},
    }.items():
        config = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(config | {"auto_map": classes}))
    loads(folder)
    assert not ran.exists()


def test_a_list_of_weight_files_leads_nowhere_else(tmp_path: Path, store: ModelStore) -> None:
    folder = small_model(tmp_path / "model")
    small_model(tmp_path / "other")
    for name in ("../other/model.safetensors", str(tmp_path / "other" / "model.safetensors"), ".."):
        index = {"weight_map": {"layer.weight": name}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        assert refusal(folder, store).code == "damaged_weights", name


def test_the_architectures_are_those_of_transformers() -> None:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    assert causal_models() == set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def test_a_template_comes_beside_the_files_not_into_them(tmp_path: Path, store: ModelStore) -> None:
    folder = small_model(tmp_path / "model")
    before = sorted(path.name for path in folder.iterdir())
    facts = inspect_model(f"{folder}#template=plain", store)
    assert (facts["has_chat_template"], facts["source"]) == (True, f"{folder}#template=plain")
    assert facts["sha256"] != store.content_hash(folder)  # another model to whoever pins it
    assert sorted(path.name for path in folder.iterdir()) == before
    made = store.resolve(f"{folder}#template=plain")
    assert store.resolve(f"{folder}#template=plain") == made
    assert read_tensors(made) == read_tensors(folder)
    assert refusal(f"{folder}#template=fancy", store).code == "unknown_template"


@pytest.mark.parametrize("damage", ["cut", "longer", "no header", "empty", "huge header"])
def test_damaged_weights_are_noticed(tmp_path: Path, store: ModelStore, damage: str) -> None:
    folder = small_model(tmp_path / "model")
    path = folder / "model.safetensors"
    data = path.read_bytes()
    path.write_bytes(
        {
            "cut": data[:-1],
            "longer": data + b"\0",
            "no header": b"\x08\0\0\0\0\0\0\0not json",
            "empty": b"",
            "huge header": b"\xff" * 8 + data,
        }[damage]
    )
    assert refusal(folder, store).code == "damaged_weights"


def header(**tensors: object) -> bytes:
    text = json.dumps(tensors).encode()
    return len(text).to_bytes(8, "little") + text


def tensor(shape: object, dtype: object = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}


def raw_header(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


HOSTILE_WEIGHTS: dict[str, Callable[[], bytes]] = {
    "a shape of 2^124": lambda: header(a=tensor([2**62, 2**62])),
    "many large ones": lambda: header(**{f"{n}": tensor([2**46]) for n in range(8)}),
    "infinite": lambda: raw_header(b'{"a": {"dtype": "F32", "shape": [Infinity], "data_offsets": [0, 0]}}'),
    "negative": lambda: header(a=tensor([-1])),
    "millions of dimensions": lambda: header(a=tensor([2] * 3_000_000)),
    "200,000 names of layers": lambda: header(**{f"l.q{n}.weight": tensor([0, 2]) for n in range(200_000)}),
    "a long name": lambda: header(**{"a" * 5000: tensor([0])}),
    "a list as type": lambda: header(a=tensor([0], ["F32"])),
    "deep": lambda: raw_header(b'{"a":' + b"[" * 100_000),
    "more objects than memory": lambda: raw_header(b'{"a":[' + b'{"":[]},' * 8_000_000 + b"0]}"),
}
"""Made in their tests: some have 50 MB, which every process that collects would make."""
HOSTILE_CONFIGS = {
    "a vocabulary of 2^80": json.dumps({"model_type": "qwen3", "vocab_size": 2**80}),
    "negative": json.dumps({"model_type": "qwen3", "text_config": {"hidden_size": -1}}),
    "a list as type": json.dumps({"model_type": ["qwen3"]}),
    "an object as architecture": json.dumps({"model_type": "qwen3", "architectures": [{}]}),
    "deep": '{"a":' * 100_000,
    "a number of a million digits": '{"model_type": "qwen3", "vocab_size": ' + "9" * 1_000_000 + "}",
}


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    apart = Apart()
    yield apart
    apart.close()


@pytest.mark.parametrize("make", HOSTILE_WEIGHTS.values(), ids=HOSTILE_WEIGHTS)
def test_weights_beyond_any_model_are_one_refusal(
    tmp_path: Path,
    store: ModelStore,
    apart: Apart,
    make: Callable[[], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, data = small_model(tmp_path / "model"), make()
    (folder / "model.safetensors").write_bytes(data)
    if len(data) > 50 << 20:
        monkeypatch.setattr(apart, "_seconds", 2.0)  # it takes long to fill the memory
    with pytest.raises(InvalidInput) as caught:
        inspect_model(str(folder), store, apart=apart)
    assert caught.value.code in ("damaged_weights", "damaged_model", "model_too_demanding")
    assert caught.value.param == "source" and caught.value.hint and len(caught.value.message) < 1000


@pytest.mark.parametrize("config", HOSTILE_CONFIGS.values(), ids=HOSTILE_CONFIGS)
def test_a_configuration_beyond_any_model_is_refused(tmp_path: Path, store: ModelStore, config: str) -> None:
    folder = small_model(tmp_path / "model")
    (folder / "config.json").write_text(config)
    assert refusal(folder, store).code == "damaged_model"


def test_the_limited_process_reads_the_same_facts(tmp_path: Path, store: ModelStore, apart: Apart) -> None:
    folder = str(small_model(tmp_path / "model"))
    assert inspect_model(folder, store, apart=apart) == inspect_model(folder, store)


def test_a_card_that_refers_to_itself_many_times_stays_small(tmp_path: Path) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in pairwise("abcdefghi")]
    (tmp_path / "README.md").write_text("\n".join(["---", *lines, "license: *i", "---", ""]))
    assert find_licence(tmp_path) is None


def test_a_missing_shard_is_noticed(tmp_path: Path, store: ModelStore) -> None:
    folder = small_model(tmp_path / "model")
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "model-00002-of-00002" in refusal(folder, store).message


@pytest.mark.parametrize(
    ("card", "text", "expected"),
    [
        ("---\nlicense: apache-2.0\ntags: [a]\n---\n# Name", None, "apache-2.0"),
        ("---\nlicense: other\nlicense_name: qwen-research\n---\n", None, "qwen-research"),
        ("---\nlicense: [mit, bsd]\n---\n", None, "mit, bsd"),
        ("---\n: : :\n---\n", "MIT License\n\nCopyright", "mit"),
        ("# no front matter", "Apache License\nVersion 2.0", "apache-2.0"),
        (None, "\nMy own terms\n", "My own terms"),
        (None, None, None),
    ],
)
def test_the_licence_is_read_from_the_card_or_the_licence_file(
    tmp_path: Path, card: str | None, text: str | None, expected: str | None
) -> None:
    if card is not None:
        (tmp_path / "README.md").write_text(card)
    if text is not None:
        (tmp_path / "LICENSE").write_text(text)
    assert find_licence(tmp_path) == expected
