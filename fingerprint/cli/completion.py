"""fingerprint completion."""

import click
from click.shell_completion import get_completion_class

from fingerprint.cli.verb import Verb

SHELLS = ("bash", "zsh", "fish")


@click.command(
    cls=Verb,
    examples="""\
source <(fingerprint completion bash)
fingerprint completion fish > ~/.config/fish/completions/fingerprint.fish""",
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell: verbs, flags, run names and fact paths."""
    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(ctx.find_root().command, {}, "fingerprint", "_FINGERPRINT_COMPLETE").source())
