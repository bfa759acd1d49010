"""`reinforge models …` against a real backend."""

from tests.backend.server import Backend
from tests.support.command_line import Cli


def test_a_model_is_shared_by_an_administrator(backend: Backend, run: Cli) -> None:
    [(project,)] = backend.sql("SELECT id FROM project WHERE name = 'default'")
    backend.add_model("mine", project=project)
    listed = run("models", "list").out
    whose = {line.split()[0]: line for line in listed.splitlines() if line.strip()}
    assert "this project" in whose["mine"] and "all projects" in whose["tiny"]
    shared = run("models", "share", "mine")
    assert (shared.code, shared.err) == (0, "All projects share mine.")
    whose = {line.split()[0]: line for line in run("models", "list").out.splitlines() if line.strip()}
    assert "all projects" in whose["mine"]
    missing = run("models", "share", "nothing")
    assert missing.code != 0 and "There is no base model" in missing.err
