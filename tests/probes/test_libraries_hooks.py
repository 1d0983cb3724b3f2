"""Code that every Python of an environment runs before the program, told from outside."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from probes.kit.facts import Gap, Map, Redacted
from tests.probes.children import changes
from tests.probes.environments import NO_VARIABLES, RELEASE, Environment


def of_setuptools(site: Path, package: str) -> None:
    template = pytest.importorskip("setuptools.command.editable_wheel")._finder_template
    (site / "__editable___engine_1_0_finder.py").write_text(template("engine", {"engine": package}, {}))
    words = "import __editable___engine_1_0_finder; __editable___engine_1_0_finder.install()"
    (site / "__editable__.engine-1.0.pth").write_text(words)


def of_editables(site: Path, package: str) -> None:
    project = pytest.importorskip("editables").EditableProject("engine", os.path.dirname(package))
    project.map("engine", "engine")
    for name, text in project.files():
        (site / name).write_text(text)
    runtime = Path(importlib.util.find_spec("editables").origin).parent  # type: ignore[union-attr, arg-type]
    shutil.copytree(runtime, site / "editables")


FINDERS = {"setuptools": of_setuptools, "editables": of_editables}


@pytest.fixture
def venv(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "venv")


class TestStartUp:
    def test_a_hook_that_was_added_is_told_with_what_it_runs(self, venv: Environment, tmp_path: Path) -> None:
        before = venv.read()
        (venv.site / "tracer.pth").write_text(f"# a comment\nimport sys\n{tmp_path}\n")
        told = venv.read()
        assert isinstance(told.hooks, Map)
        assert (told.hooks.items["tracer.pth"].runs, told.hooks.items["tracer.pth"].adds) == (
            ("import sys",), (str(tmp_path),),
        )  # fmt: skip
        assert {path.split("/")[0] for path in changes(before, told)} == {"hooks", "folders"}

    def test_a_secret_in_a_hook_is_redacted(self, venv: Environment) -> None:
        (venv.site / "agent.pth").write_text("import agent; agent.start(api_key='hunter2-secret')\n")
        told = venv.read()
        assert isinstance(told.hooks, Map)
        runs = told.hooks.items["agent.pth"].runs
        assert isinstance(runs, tuple)
        assert isinstance(runs[0], Redacted)

    def test_of_a_link_to_something_else_nothing_is_told(self, venv: Environment, tmp_path: Path) -> None:
        secrets = tmp_path / "secrets"
        secrets.write_text("root:$6$salt$hash:20228:0:99999:7:::\nhunter2-secret\n")
        (venv.site / "link.pth").symlink_to(secrets)
        told = venv.read()
        assert isinstance(told.hooks, Map)
        assert (told.hooks.items["link.pth"].adds, told.hooks.items["link.pth"].runs) == ((), ())

    def test_hooks_of_one_name_in_two_folders_are_both_told(self, venv: Environment, tmp_path: Path) -> None:
        below = Environment(tmp_path / "other", system_site=True)
        home = tmp_path / "home"
        user = home / f".local/lib/python{RELEASE}/site-packages"
        user.mkdir(parents=True)
        for site in (below.site, user):
            (site / "tracer.pth").write_text("import sys\n")
        told = below.read(env={**NO_VARIABLES, "HOME": str(home)})
        assert isinstance(told.hooks, Map)
        assert {"tracer.pth", "tracer.pth#2"} <= set(told.hooks.items)

    @pytest.mark.parametrize("name", ["sitecustomize", "usercustomize"])
    def test_a_customisation_is_the_first_on_the_path(self, name: str, venv: Environment, tmp_path: Path) -> None:
        for folder in (venv.site, tmp_path):
            (folder / f"{name}.py").write_text("x = 1\n")
        told = venv.read(env={**NO_VARIABLES, "PYTHONPATH": str(tmp_path)})
        assert isinstance(told.customisations, Map)
        assert told.customisations.items[name].path == str(tmp_path / f"{name}.py")

    @pytest.mark.parametrize("tool", ["setuptools", "editables"])
    def test_what_a_finder_imports_from_elsewhere_is_told(self, tool: str, venv: Environment, tmp_path: Path) -> None:
        package = tmp_path / "a checkout" / "engine"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        FINDERS[tool](venv.site, str(package))
        words = (str(venv.python), "-c", "import engine; print(engine.__file__)")
        imported = subprocess.run(words, env=NO_VARIABLES, capture_output=True, text=True, check=True).stdout.strip()
        told = venv.read()
        assert isinstance(told.hooks, Map)
        (maps,) = (hook.maps for hook in told.hooks.items.values())
        assert isinstance(maps, Map)
        assert str(maps.items["engine"]).removesuffix("/__init__.py") == str(package) == os.path.dirname(imported)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("MAPPING: dict[str, str] = {}\nNAMESPACES: dict[str, list[str]] = {'ours': ['/a', '/b']}\n", "/a:/b"),
            ("MAPPING = {'ours': print('run')}\n", Gap("failed")),
            ("MAPPING = {'ours': 5}\n", Gap("failed")),
            ("MAPPING = {['ours']: '/a'}\n", Gap("failed")),
            ("MAPPING = {'ours': '\\ud800'}\n", Gap("failed")),
            ("MAPPING = {" + "(" * 9999 + ")" * 9999 + "}\n", Gap("failed")),
            ("#" * 300_000, Gap("failed")),
            (None, Gap("absent")),
        ],
    )
    def test_a_finder_is_read_and_never_run(self, text: str | None, told: object, venv: Environment) -> None:
        (venv.site / "__editable__.ours-1.pth").write_text("import __editable___ours_1_finder")
        if text is not None:
            (venv.site / "__editable___ours_1_finder.py").write_text(text)
        hooks = venv.read().hooks
        assert isinstance(hooks, Map)
        maps = hooks.items["__editable__.ours-1.pth"].maps
        assert (maps.items["ours"] if isinstance(maps, Map) else maps) == told

    def test_a_secret_that_a_finder_holds_leaves_as_a_digest(self, venv: Environment) -> None:
        (venv.site / "__editable__.ours-1.pth").write_text("import __editable___ours_1_finder")
        (venv.site / "__editable___ours_1_finder.py").write_text("MAPPING = {'ours': 'https://me:hunter2@host/x'}\n")
        assert "hunter2" not in str(venv.read())

    def test_without_site_none_of_it_runs(self, venv: Environment) -> None:
        (venv.site / "tracer.pth").write_text("import sys\n")
        told = venv.read("-S")
        assert (told.hooks, told.packages) == (Map({}), Map({}))
