"""`evalmark models get` and `models list`: the local embedding models."""

from typing import Annotated

import typer

from evalmark.cli.terminal.output import print_line
from evalmark.cli.terminal.progress import Progress
from evalmark.models.embeddings.model_cache import fetch_model, local_models

from . import flags


def add(app: typer.Typer) -> None:
    """Put the verbs on the command line."""
    verbs = typer.Typer(help="Local models: fetch, list, check.", no_args_is_help=True, rich_markup_mode=None)
    verbs.command("get")(get)
    verbs.command("list", short_help="List the known models, and check those that are here.")(list_models)
    app.add_typer(verbs, name="models")


def get(
    name: Annotated[str, typer.Argument(help="The model's name.")] = "all-MiniLM-L6-v2",
    offline: flags.Offline = None,
) -> None:
    """Fetch a model's weights once, and check them by their SHA-256."""
    with Progress() as progress:
        folder = fetch_model(name, flags.settings(offline=offline), progress.fetched)
    print_line(f"{name} is in {folder}")


def list_models() -> None:
    """List the known models: which are here, how large, and whether their hashes are right."""
    for model in local_models(flags.settings()):
        print_line(model.line)
