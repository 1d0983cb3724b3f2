"""fingerprint record."""

from pathlib import Path

import click

from fingerprint.cli.options import AREA
from fingerprint.cli.verb import Verb


@click.command(
    cls=Verb,
    examples="""\
fingerprint record my-host
fingerprint record their-host --root unpacked/     (a tree of /proc and /sys from elsewhere)""",
)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--root",
    default="/",
    metavar="TREE",
    type=click.Path(exists=True, file_okay=False),
    help="Read below this folder instead of this machine.",
)
@click.option("--area", "only", multiple=True, type=AREA, help="Record this area alone; may be repeated.")
def command(folder: Path, root: str, only: tuple[str, ...]) -> None:
    """Record all that the probes read here, so that it can be replayed elsewhere."""
    from fingerprint.areas import host_areas
    from fingerprint.cli.invocation import Invocation
    from fingerprint.testing import record
    from probes.kit.host import Host

    invocation = Invocation()
    host = Host(root=root, redactor=invocation.redactor, nvml=invocation.settings.nvml_options)
    record(host, host_areas(invocation.probes(only)), folder)
    click.echo(f"recorded in {folder}: look through it before you hand it on")
