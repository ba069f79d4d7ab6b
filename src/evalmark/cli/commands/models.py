"""`evalmark models get` and `models list`: the local embedding models."""

from typing import Annotated

import typer

from evalmark.cli.terminal.output import print_line
from evalmark.cli.terminal.progress import Progress
from evalmark.models.embeddings.model_cache import fetch_model, local_models

from . import flags


def add(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    verbs = typer.Typer(help="Download and check local embedding models.", no_args_is_help=True, rich_markup_mode=None)
    verbs.command("get")(get)
    verbs.command("list", short_help="List known models and check the downloaded ones.")(list_models)
    app.add_typer(verbs, name="models")


def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The model's name.")] = "all-MiniLM-L6-v2",
    offline: flags.Offline = None,
) -> None:
    """Download the weights of a model once, and check their SHA-256."""
    with Progress() as progress:
        folder = fetch_model(name, flags.settings(offline=offline), progress.fetched)
    print_line(f"{name} is in {folder}")


def list_models() -> None:
    """List known models: size, whether downloaded, and whether the SHA-256 is correct."""
    for model in local_models(flags.settings()):
        print_line(model.line)
