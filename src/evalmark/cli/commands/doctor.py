"""`evalmark doctor`: check the installation."""

import typer

from evalmark.cli.commands.installation import check_installation
from evalmark.cli.terminal.output import print_line

from . import flags


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(epilog=flags.exit_codes({0: "everything works", 1: "a check failed"}))(doctor)


def doctor(store: flags.Store = None) -> None:
    """Check the installation: package versions, the store, and the local models."""
    findings = list(check_installation(flags.settings(store=store)))
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        print_line(f"{'ok ' if finding.well else 'BAD'}  {finding.what:<{width}}  {finding.says}")
    raise typer.Exit(0 if all(finding.well for finding in findings) else 1)
