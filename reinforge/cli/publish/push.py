"""Command `reinforge push`."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from reinforge import settings
from reinforge.cli import output
from reinforge.cli.admin.serve import need
from reinforge.cli.output import Json, err, out
from reinforge.cli.publish.card import write_card
from reinforge.cli.publish.merge import AdapterId, Base, merge_fetched
from reinforge.cli.publish.weights import FetchedAdapter, fetch
from reinforge.cli.results.weights import Final, Step
from reinforge.errors import InvalidInput, NotAllowed, NotAuthenticated, ReinforgeError, Unavailable

FILES = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", "*.md", "LICENSE*", "NOTICE*"]


def push(
    id: AdapterId,
    repository: Annotated[str, typer.Argument(help="Repository on the hub, ORG/NAME.", metavar="REPO")],
    merged: Annotated[
        bool, typer.Option("--merged", help="Push the merged model instead of the adapter.")
    ] = False,
    base: Base = None,
    private: Annotated[
        bool, typer.Option("--private/--public", help="Visibility of a new repository.")
    ] = True,
    revision: Annotated[str | None, typer.Option(help="Branch; default: main.")] = None,
    token_env: Annotated[str, typer.Option(help="Environment variable with the hub's token.")] = "HF_TOKEN",
    final: Final = False,
    step: Step = None,
    json: Json = False,
) -> None:
    """Push an adapter, or with --merged the merged model, with a model card to the Hugging Face Hub.

    A new repository is private unless --public. HF_ENDPOINT names another hub.
    """
    need("worker")
    token = settings.variable(token_env)
    if not token:
        raise InvalidInput(
            f"The environment variable {token_env} is not set.", code="usage", param="--token-env"
        )
    with tempfile.TemporaryDirectory(prefix="rf-push-") as temporary:
        folder = Path(temporary)
        adapter = fetch(id, folder / "adapter", final=final, step=step)
        contents = adapter.folder
        if merged:
            contents = Path(merge_fetched(adapter, base, folder / "merged").out)
        url = _upload(
            contents, repository, token, private=private, revision=revision, card=_card(adapter, merged)
        )
    if json:
        output.print_json({"url": url, "repository": repository, "merged": merged})
        return
    err.print("The model card lists base model, its licence, data, rewards, steps and held-out rewards.")
    out.print(url, markup=False, soft_wrap=True)


def _card(adapter: FetchedAdapter, merged: bool) -> str | None:
    """The model card; None to keep the folder's README.md."""
    if adapter.facts is None:
        return None
    return write_card(adapter.facts, merged="as the base model" if merged else None)


def _upload(
    folder: Path, repository: str, token: str, *, private: bool, revision: str | None, card: str | None
) -> str:
    """Upload in one commit; returns its URL."""
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    from huggingface_hub.utils import disable_progress_bars, filter_repo_objects

    disable_progress_bars()
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    operations = [
        CommitOperationAdd(name, folder / name)
        for name in filter_repo_objects(names, allow_patterns=FILES)
        if card is None or name != "README.md"
    ]
    if card is not None:
        operations.append(CommitOperationAdd("README.md", card.encode()))
    api = HfApi(token=token, endpoint=settings.variable("HF_ENDPOINT"))
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        done = api.create_commit(
            repository, operations, commit_message="Upload with reinforge push", revision=revision
        )
    except HFValidationError as error:
        raise InvalidInput(str(error).splitlines()[0], code="usage", param="REPO") from error
    except HfHubHTTPError as error:
        raise _refusal(error, repository) from error
    except Exception as error:
        # The library's HTTP client changed between its versions; its transport errors share a base class by name.
        kinds = " ".join(kind.__name__.lower() for kind in type(error).__mro__)
        if "transport" not in kinds and not isinstance(error, OSError | RuntimeError):
            raise
        raise Unavailable(f"The hub does not answer: {error}"[:500], code="hub_unavailable") from error
    return str(done.commit_url)


def _refusal(error: Exception, repository: str) -> ReinforgeError:
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    message = f"The hub refused {repository}: {str(getattr(error, 'server_message', None) or error).splitlines()[0]}"
    if status == 401:
        return NotAuthenticated(
            message, hint="Check the token in the environment variable that --token-env names."
        )
    if status in (403, 404):
        return NotAllowed(message, hint="The token needs write access to this repository.")
    return Unavailable(message, code="hub_unavailable")
