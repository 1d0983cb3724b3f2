"""fingerprint service."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fingerprint.cli.options import output_format, quiet
from fingerprint.cli.verb import Verb
from fingerprint.trouble import Trouble

if TYPE_CHECKING:
    from fingerprint.service.systemd import UnitState

_TROUBLE = 2


@click.command(
    cls=Verb,
    examples="""\
fingerprint service install                    (as root; both units are enabled and started)
fingerprint service status
fingerprint service install --root /mnt/image  (the files alone, for another machine)
fingerprint service uninstall --purge          (what was recorded, too)""",
    exits={
        "0": "done; of status: both units are active",
        "2": "trouble, told in one sentence on standard error; of status also: a unit is not active",
    },
)
@click.argument("action", type=click.Choice(["install", "status", "uninstall"]))
@click.option("--root", metavar="DIR", default="/", type=click.Path(file_okay=False), help="Only files, beneath DIR.")
@click.option("--purge", is_flag=True, help="With uninstall: remove what the service recorded, and its users.")
@output_format("text", "json")
@quiet()
def command(action: str, root: str, purge: bool, form: str, quiet: bool) -> int:
    """Install, look at or uninstall the service, which records this host all the time."""
    from fingerprint.service.systemd import install, states, uninstall

    if purge and action != "uninstall":
        raise Trouble(f"--purge is for uninstall: service {action} removes nothing")
    if action == "status":
        return _show(states(), form)

    def told(words: str) -> None:
        if not quiet:
            click.echo(words)

    if action == "install":
        install(Path(root).absolute(), told)
        told("who may use it: usermod --append --groups fingerprint USER")
    else:
        uninstall(Path(root).absolute(), told, purge=purge)
        if not purge:
            told("what was recorded stays in /var/lib/fingerprint: service uninstall --purge removes it")
    return 0


def _show(states: "tuple[UnitState, ...]", form: str) -> int:
    import msgspec

    if form == "json":
        click.echo(json.dumps(msgspec.to_builtins(states), indent=2))
    else:
        for state in states:
            click.echo(_in_words(state))
    return 0 if all(state.active == "active" for state in states) else _TROUBLE


def _in_words(state: "UnitState") -> str:
    line = f"{state.unit:27} {state.file}"
    if state.load == "not-found":
        return f"{state.unit:27} not installed"
    if state.since:
        line += f", {state.enabled}, {state.active} ({state.sub}) since {state.since}"
    else:
        line += f", {state.enabled}, {state.active} ({state.sub})"
    return f"{line}\n{'':27} {state.says}" if state.says else line
