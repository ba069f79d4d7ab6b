"""`evalmark doctor`."""

import typer

from evalmark.cli.commands.installation import check_installation
from evalmark.cli.terminal.output import print_line

from . import flags


def add(app: typer.Typer) -> None:
    """Put the verb on the command line."""
    app.command()(doctor)


def doctor(store: flags.Store = None) -> None:
    """Say what this installation is made of and whether it is well; exit code 1 if it is not."""
    findings = list(check_installation(flags.settings(store=store)))
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        print_line(f"{'ok ' if finding.well else 'BAD'}  {finding.what:<{width}}  {finding.says}")
    raise typer.Exit(0 if all(finding.well for finding in findings) else 1)
