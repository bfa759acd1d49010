"""Templates and tokenizers of strangers cost their request, never the worker."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.errors import InvalidInput
from worker.isolated.process import SECONDS, Apart
from worker.starter.tokenizer import write_tokenizer

ROWS = [[{"role": "user", "content": "1+1="}]]
LOOP = "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    made = Apart()
    yield made
    made.close()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    write_tokenizer(tmp_path)
    return tmp_path


def render(apart: Apart, model: Path, template: str | None = None) -> str:
    path = model / "chat_template.jinja"
    original = path.read_text() if path.exists() else None
    if template is not None:
        path.write_text(template)
    try:
        return str(apart.ask("render", model, {"rows": ROWS})["prompts"][0]["text"])
    finally:
        path.unlink(missing_ok=True)
        if original is not None:
            path.write_text(original)


@pytest.mark.parametrize(
    ("template", "reasons"),
    [
        pytest.param("{{ 'a'.ljust(3000000000) }}", ("MemoryError",), id="more than the limit of memory"),
        pytest.param("{{ 'a' * 80000000 }}", ("too much", "too long"), id="more than the limit of output"),
    ],
)
def test_a_template_that_takes_memory_costs_its_request(
    apart: Apart, model: Path, template: str, reasons: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        render(apart, model, template)
    assert refused.value.code in ("model_too_demanding", "prompt_not_renderable")
    assert any(reason in refused.value.message for reason in reasons)
    assert render(apart, model) == "<|user|>1+1=<|assistant|>"


def test_an_endless_template_is_stopped_and_its_child_replaced(apart: Apart, model: Path) -> None:
    assert render(apart, model) == "<|user|>1+1=<|assistant|>"
    (child,) = apart._idle
    apart._seconds = 0.5
    try:
        with pytest.raises(InvalidInput, match="took too long") as refused:
            render(apart, model, LOOP)
    finally:
        apart._seconds = SECONDS
    assert refused.value.code == "model_too_demanding"
    assert not child.is_alive()
    assert render(apart, model) == "<|user|>1+1=<|assistant|>"


def test_a_child_has_none_of_the_workers_secrets(
    apart: Apart, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REINFORGE_WORKER_TOKEN", "secret-of-the-worker")
    fresh = Apart()
    try:
        render(fresh, model)
        environment = Path(f"/proc/{fresh._idle[0].pid}/environ").read_bytes()
        assert b"PATH=" in environment and b"secret-of-the-worker" not in environment
    finally:
        fresh.close()


def test_a_child_gives_way_to_others(apart: Apart, model: Path) -> None:
    render(apart, model)
    child = apart._idle[0].pid
    assert os.getpriority(os.PRIO_PROCESS, child) > os.getpriority(os.PRIO_PROCESS, 0)


def test_a_child_that_waits_for_a_processor_has_not_used_its_time(apart: Apart, model: Path) -> None:
    render(apart, model)
    (child,) = apart._idle
    apart._seconds = 1.5
    os.kill(child.pid, signal.SIGSTOP)  # as one that gets no processor
    threading.Timer(2.0, os.kill, (child.pid, signal.SIGCONT)).start()
    try:
        assert render(apart, model) == "<|user|>1+1=<|assistant|>"
    finally:
        apart._seconds = SECONDS
    assert apart._idle == [child]


def test_a_child_that_never_answers_is_ended(apart: Apart, model: Path) -> None:
    render(apart, model)
    (child,) = apart._idle
    apart._seconds = 0.2
    os.kill(child.pid, signal.SIGSTOP)
    try:
        with pytest.raises(InvalidInput, match="took too long"):
            render(apart, model)
    finally:
        apart._seconds = SECONDS
    assert not child.is_alive()


def test_a_fork_has_children_of_its_own(apart: Apart, model: Path) -> None:
    render(apart, model)
    (child,) = apart._idle
    pid = os.fork()
    if pid == 0:
        try:
            same = render(apart, model) == "<|user|>1+1=<|assistant|>" and child not in apart._idle
            apart.close()
            os._exit(0 if same else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    assert render(apart, model) == "<|user|>1+1=<|assistant|>" and apart._idle == [child]
