"""The pages say what the program does: every verb, example, exit status and setting in them is real."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fingerprint.cli.main import TASKS, cli
from fingerprint.cli.verb import Verb
from fingerprint.settings import DEFAULT, values
from fingerprint.version import __version__

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
CLI_PAGE = (ROOT / "docs/cli.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")])
VERBS = [verb for verbs in TASKS.values() for verb in verbs]
OF_ITS_OWN = {
    "run": {"CMD's", "125", "126", "127"},
    "daemon": {"0", "1", "2"},
    "diff": {"0", "1", "2"},
    "gate": {"0", "1", "2", "3"},
    "noise": {"0", "1", "2"},
}


def the(verb: str) -> Verb:
    found = cli.get_command(click.Context(cli), verb)
    assert isinstance(found, Verb), verb
    return found


@pytest.mark.parametrize(("script", "page"), [("cli_page.py", "cli.md"), ("mechanisms_page.py", "mechanisms.md")])
def test_a_page_that_is_made_is_what_its_generator_prints(script: str, page: str) -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / script], capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "docs" / page).read_text(), f"run: .venv/bin/python scripts/{script} > docs/{page}"


def test_every_verb_has_a_module_and_every_module_of_a_verb_is_one() -> None:
    defining = [path for path in (ROOT / "fingerprint/cli").glob("*.py") if "\ndef command(" in path.read_text()]
    assert sorted(path.stem.rstrip("_") for path in defining) == sorted(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_has_a_part_on_each_verb_with_each_of_its_options(verb: str) -> None:
    part = re.search(rf"^### {verb}\n(.*?)(?=^##|\Z)", CLI_PAGE, re.M | re.S)
    assert part is not None
    flags = {flag for param in the(verb).params if isinstance(param, click.Option) for flag in param.opts}
    assert {flag for flag in flags if flag not in part[1]} == set()


# Exit statuses.


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_each_verb_lists_its_exit_statuses(verb: str) -> None:
    told = the(verb).get_help(click.Context(the(verb), info_name=verb))
    listed = set(re.findall(r"^  (\S+)  ", told.partition("\nExit status:\n")[2], re.M))
    assert listed == OF_ITS_OWN.get(verb, {"0", "2"})


# Examples, settings, links, version.


def examples() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for line in re.findall(r"^ {4}\$? ?(fingerprint(?: .*)?)$", page.read_text(), re.M):
            yield str(page.relative_to(ROOT)), line


@pytest.mark.parametrize(("page", "line"), sorted(set(examples())))
def test_each_command_line_in_the_pages_is_understood(page: str, line: str) -> None:
    words = list(shlex.shlex(re.sub(r"\s{2,}\(.*", "", line), posix=True, punctuation_chars="|>"))
    words = [word for word in words if not word.startswith("#")]
    end = next((at for at, word in enumerate(words) if set(word) <= set("|>")), len(words))
    verb, *rest = words[1:end] or ["status"]
    if "[OPTIONS]" not in rest:
        the(verb).make_parser(click.Context(the(verb))).parse_args(rest)


def test_the_settings_in_the_readme_are_settings_all_of_them(tmp_path: Path) -> None:
    file = tmp_path / "fingerprint/config.toml"
    file.parent.mkdir()
    block = README.partition("    # config.toml\n")[2].partition("\n## ")[0]
    file.write_text(re.sub(r"^ {4}", "", block, flags=re.M))
    found = values({"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)})
    assert {value.key for value in found if value.origin == DEFAULT} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_checkout_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_changelog_begins_with_this_version() -> None:
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert first is not None
    assert first[1] == __version__
