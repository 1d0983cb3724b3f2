"""fingerprint doctor."""

import json
from typing import TYPE_CHECKING, Any

import click

from fingerprint.cli.options import output_format
from fingerprint.cli.serving import found, which
from fingerprint.cli.verb import Verb

if TYPE_CHECKING:
    from fingerprint.cli.invocation import Invocation
    from fingerprint.doctor import Finding, House
    from probes.kit.probe import Target


MOST_BELOW = 64
"""Processes below the servers' own that are looked at: one of a role is as another."""


@click.command(
    cls=Verb,
    examples="""\
fingerprint doctor
fingerprint doctor --deep
fingerprint doctor --port 30000      (also what of this server's processes cannot be read)""",
)
@which()
@click.option("--deep", is_flag=True, help="Also ask CPUID (py-cpuinfo; over a second, once a boot).")
@output_format("text", "json")
def command(deep: bool, form: str, **servers: Any) -> None:
    """Say what cannot be read here, why, and what would help."""
    import msgspec

    from fingerprint.cli.invocation import Invocation
    from fingerprint.doctor import examine

    invocation = Invocation()
    snapshot = invocation.snapshot(processes=_targets(invocation, **servers))
    findings = [*examine(snapshot, _house(invocation)), *(_deep(invocation) if deep else ())]
    if form == "json":
        click.echo(json.dumps(msgspec.to_builtins(findings), indent=2))
        return
    for finding in findings:
        click.echo(_in_words(finding))


def _targets(invocation: "Invocation", pids: tuple[int, ...], ports: tuple[int, ...], every: bool) -> "list[Target]":
    if not (pids or ports or every):
        return []
    from fingerprint.runs.attached import targets_of
    from fingerprint.runs.ray import with_workers
    from probes.process import tree

    roots = targets_of(with_workers(invocation.host, found(invocation.host, pids, ports, every=every)).servers)
    members = {target.pid: target for root in roots for target in tree(invocation.host, root)}
    below = [target for target in members.values() if target not in roots]
    return [*roots, *below[:MOST_BELOW]]


def _house(invocation: "Invocation") -> "House":
    from fingerprint.doctor import House, installed
    from fingerprint.store import default_path
    from fingerprint.store.place import network_of

    path = default_path(invocation.environ)
    return House(str(path), network_of(path), invocation.key.trouble, installed())


def _deep(invocation: "Invocation") -> "list[Finding]":
    from pathlib import Path

    from fingerprint.doctor import cpuid, of_cpuid
    from fingerprint.folders import state_folder
    from probes.kit.facts import seen_or

    boot_id = seen_or(invocation.host.line("/proc/sys/kernel/random/boot_id"), "unknown")
    return [of_cpuid(cpuid(state_folder(invocation.environ) or Path("/nonexistent"), boot_id))]


def _in_words(finding: "Finding") -> str:
    lines = [f"{finding.level:8} {finding.about}: {finding.says}"]
    lines += [f"         {word}: {text}" for word, text in (("why", finding.why), ("remedy", finding.remedy)) if text]
    return "\n".join(lines)
