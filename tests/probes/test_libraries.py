"""What a Python can import, told from outside: which folders, which distributions, and which of two is first."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from probes.kit.facts import Gap, Map, Redacted
from probes.kit.host import Host
from probes.libraries.distributions import normalized
from probes.libraries.sections import Libraries, Origin
from probes.libraries.watched import is_watched
from tests.probes.children import changes, running
from tests.probes.children import read as read_process
from tests.probes.environments import NO_VARIABLES, RELEASE, Environment, install, package, read, titled
from tests.probes.tree import Forbidding

LISTED = """
import importlib.metadata as m, json, re, sys
found = {}
for d in m.distributions():
    found.setdefault(re.sub("[-_.]+", "-", d.metadata["Name"]).lower(), d.version)
print(json.dumps([found, sys.prefix, [p for p in sys.path if p]]), flush=True)
import time; time.sleep(60)
"""


@pytest.fixture
def venv(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "venv")


def packages(libraries: Libraries) -> dict[str, object]:
    assert isinstance(libraries.packages, Map), libraries.packages
    return {name: package.version for name, package in libraries.packages.items.items()}


def in_arguments(*python: str) -> tuple[str, ...]:
    return *python, "-c", LISTED


def as_python_says(argv: Sequence[str], **start: object) -> tuple[Libraries, dict[str, str], str, list[str]]:
    """What we tell of a process that runs LISTED, and what it tells of itself."""
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, **start)  # type: ignore[call-overload]
    try:
        found, prefix, path = json.loads(child.stdout.readline())
        return read(child.pid), found, prefix, path
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize("options", [[], ["-s"], ["-I"], ["-E"], ["-S"]])
def test_all_is_found_that_python_itself_finds(options: list[str], tmp_path: Path) -> None:
    home, extra = tmp_path / "home", tmp_path / "extra"
    install(home / f".local/lib/python{RELEASE}/site-packages", "of_the_user", "1.0")
    install(extra, "of_pythonpath", "1.0")
    variables = {**NO_VARIABLES, "HOME": str(home), "PYTHONPATH": str(extra)}
    told, found, prefix, path = as_python_says(in_arguments(sys.executable, *options), env=variables, cwd=tmp_path)
    assert packages(told) == found
    assert "-S" in options or told.environment == prefix  # it is site.py that makes it sys.prefix
    assert isinstance(told.folders, tuple)
    ours = [os.path.join(str(told.environment), folder) for folder in told.folders]
    assert [folder for folder in path if folder in ours] == [folder for folder in ours if folder in path]  # in order


@pytest.mark.parametrize("value", [":{tmp}/of_pythonpath", "{tmp}/of_pythonpath:", "../of_pythonpath::"])
def test_an_empty_entry_of_pythonpath_is_the_working_folder(value: str, venv: Environment, tmp_path: Path) -> None:
    here = tmp_path / "here"
    for folder in (here, tmp_path / "of_pythonpath"):
        install(folder, folder.name, "1.0")
    (tmp_path / "serve.py").write_text(LISTED)
    words = (str(venv.python), str(tmp_path / "serve.py"))
    variables = {**NO_VARIABLES, "PYTHONPATH": value.format(tmp=tmp_path)}
    told, found, _, _ = as_python_says(words, env=variables, cwd=here)
    assert packages(told) == found == {"here": "1.0", "of-pythonpath": "1.0"}


@pytest.mark.parametrize(("name", "value"), [("PYTHONPATH", "/a?token=s3cr3t:/b"), ("PYTHONUSERBASE", "/caf\udce9")])
def test_folders_that_a_variable_names_in_words_that_are_not_told_are_no_missing_ones(
    name: str, value: str, venv: Environment
) -> None:
    venv.install("torch", "2.9.0")
    variables = {**NO_VARIABLES, name: value}
    told = venv.read(env=variables)
    assert isinstance(told.folders, Gap)
    assert (told.folders.code, told.folders.detail.partition(" ")[0]) == ("not_observable", name)
    assert package(told, "torch").version == "2.9.0"
    assert isinstance(venv.read("-E", env=variables).folders, tuple)


def test_a_folder_that_is_run_is_itself_on_the_path(venv: Environment, tmp_path: Path) -> None:
    install(tmp_path / "app", "of_the_app", "1.0")
    (tmp_path / "app/__main__.py").write_text(LISTED)
    told, found, _, _ = as_python_says((str(venv.python), str(tmp_path / "app")), env=NO_VARIABLES, cwd="/")
    assert packages(told) == found == {"of-the-app": "1.0"}


def test_the_users_base_may_be_relative(tmp_path: Path) -> None:
    install(tmp_path / f"mine/lib/python{RELEASE}/site-packages", "of_the_user", "1.0")
    variables = {**NO_VARIABLES, "PYTHONUSERBASE": "mine"}
    told, found, _, _ = as_python_says(in_arguments(str(Path(sys.executable).resolve())), env=variables, cwd=tmp_path)
    assert packages(told) == found
    assert found["of-the-user"] == "1.0"


def test_a_folder_of_setup_py_install_is_a_distribution(venv: Environment) -> None:
    """As DeepEP and DeepGEMM were installed by their instructions, where setuptools is older than 80."""
    egg = venv.site / "deep_ep-1.2.1+c8dceac-py3.11-linux-x86_64.egg"
    (egg / "EGG-INFO").mkdir(parents=True)
    (egg / "EGG-INFO/PKG-INFO").write_text("Metadata-Version: 2.1\nName: deep_ep\nVersion: 1.2.1+c8dceac\n\n")
    (venv.site / "easy-install.pth").write_text(f"./{egg.name}\n")
    told, found, _, _ = as_python_says(in_arguments(str(venv.python)), env=NO_VARIABLES, cwd="/")
    assert packages(told) == found == {"deep-ep": "1.2.1+c8dceac"}
    (egg / "EGG-INFO/PKG-INFO").unlink()
    assert packages(venv.read())["deep-ep"] == Gap("failed")


@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="no Python of the system")
@pytest.mark.parametrize("site", [False, True])
def test_the_systems_python_and_an_environment_upon_it(site: bool, tmp_path: Path) -> None:
    python = "/usr/bin/python3"
    if site:
        made = subprocess.run([python, "-m", "venv", "--without-pip", "--system-site-packages", tmp_path / "v"])
        if made.returncode:
            pytest.skip("the system's Python has no venv")
        python = str(tmp_path / "v/bin/python")
    told, found, prefix, _ = as_python_says(in_arguments(python), env=NO_VARIABLES, cwd="/")
    assert packages(told) == found
    assert told.environment == prefix


def test_a_distribution_is_told_by_its_normalised_name(venv: Environment) -> None:
    venv.install("Flash_Attn.x", "2.8.1+cu128torch2.9", INSTALLER="pip\n", REQUESTED="")
    told = package(venv.read(), "flash-attn-x")
    assert (told.version, told.requested, told.found_in) == ("2.8.1+cu128torch2.9", True, "environment")


def test_two_environments_with_the_same_wheels_compare_as_equal(tmp_path: Path) -> None:
    sides = []
    for name in ("a", "b"):
        venv = Environment(tmp_path / name)
        venv.install("torch", "2.9.0", {"../../../bin/torchrun": f"#!{venv.python}\n"}, INSTALLER=name)
        sides.append(venv.read())
    assert changes(*sides) == {}


def test_another_version_and_nothing_else(venv: Environment, tmp_path: Path) -> None:
    venv.install("torch", "2.9.0")
    before = venv.read()
    shutil.rmtree(venv.site / "torch-2.9.0.dist-info")
    venv.install("torch", "2.9.1")
    assert changes(before, venv.read()) == {"packages/torch/version": ("2.9.0", "2.9.1")}


def test_another_wheel_of_one_version_shows_in_its_record(venv: Environment) -> None:
    venv.install("vllm", "0.11.0", {"vllm/_C.so": "one build"})
    before = venv.read()
    shutil.rmtree(venv.site / "vllm-0.11.0.dist-info")
    venv.install("vllm", "0.11.0", {"vllm/_C.so": "another!!"})
    assert set(changes(before, venv.read())) == {"packages/vllm/record"}


def test_a_package_in_two_folders_is_the_first_ones(venv: Environment, tmp_path: Path) -> None:
    venv.install("numpy", "2.0.0")
    install(tmp_path / "mine", "numpy", "1.26.0")
    told = venv.read(env={**NO_VARIABLES, "PYTHONPATH": str(tmp_path / "mine")})
    assert package(told, "numpy").version == "1.26.0"
    assert package(told, "numpy").found_in == "PYTHONPATH"
    assert told.shadowed == Map({"numpy": (f"2.0.0 in lib/python{RELEASE}/site-packages",)})
    assert venv.read("-I").shadowed == Map({})


def test_the_folder_of_the_script_comes_first(venv: Environment, tmp_path: Path) -> None:
    script = tmp_path / "app" / "serve.py"
    script.parent.mkdir()
    script.write_text("import time; time.sleep(60)")
    install(script.parent, "of_the_app", "1.0")
    assert package(venv.read(words=[str(script)]), "of-the-app").found_in == "program"


def test_metadata_that_is_not_there_is_a_gap_with_its_reason(venv: Environment) -> None:
    (venv.install("broken", "1.0") / "METADATA").unlink()
    version = package(venv.read(), "broken").version
    assert isinstance(version, Gap)
    assert (version.code, version.detail) == ("failed", "broken-1.0.dist-info holds no METADATA")


def test_what_may_not_be_read_is_denied(venv: Environment) -> None:
    info = venv.install("torch", "2.9.0")
    told = package(venv.read(host=Forbidding(str(info))), "torch")
    assert (told.version, told.record, told.modified.digest) == (Gap("denied"),) * 3


def test_the_name_is_read_where_the_folder_does_not_tell(venv: Environment) -> None:
    info = venv.site / "odd.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: Odd.One\nVersion: 3.1.dev0\n")
    old = venv.site / "older-1.2.egg-info"
    old.write_text("Metadata-Version: 1.0\nName: older\nVersion: 1.2\n")
    told = venv.read()
    assert packages(told) == {"odd-one": "3.1.dev0", "older": "1.2"}
    assert package(told, "older").record == Gap("absent")


def test_what_pip_left_half_replaced_is_no_package(venv: Environment) -> None:
    venv.install("~orch", "2.9.0")
    assert packages(venv.read()) == {}


def test_a_worker_whose_title_hides_its_python_runs_in_the_environment_of_who_started_it(venv: Environment) -> None:
    venv.install("torch", "2.9.0")
    with titled(venv.python) as pid:
        assert Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"VLLM::Worker_TP0\0")
        told, process = read(pid), read_process(Host(), pid)
    assert (told.environment, package(told, "torch").version) == (str(venv.root), "2.9.0")
    assert process.interpreter.environment == str(venv.root)
    assert process.argv0 == "VLLM::Worker_TP0"


def test_a_program_that_is_no_python_has_no_environment() -> None:
    with running(("sleep", "60")) as pid:
        told = read(pid)
    assert isinstance(told.environment, Gap)
    assert (told.environment.code, told.environment.detail) == ("absent", "the program is no Python")
    assert {told.python, told.folders, told.packages, told.origins, told.hooks} == {Gap("absent")}


def test_of_a_process_that_ended_nothing_is_told() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    told = read(child.pid)
    assert isinstance(told.environment, Gap)
    assert told.environment.detail == "the process ended"


class TestOrigin:
    def test_of_a_commit(self, venv: Environment) -> None:
        url = '{"url": "https://example.org/sglang.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee", '
        venv.install("sglang", "0.5.0", direct_url_json=url + '"requested_revision": "main"}}')
        origin = self.of(venv, "sglang")
        assert (origin.url, origin.commit, origin.revision) == ("https://example.org/sglang.git", "c0ffee", "main")
        assert (origin.archive, origin.tree.path) == (Gap("absent"), Gap("absent"))

    def test_of_an_archive_whose_address_holds_a_password(self, venv: Environment) -> None:
        url = '{"url": "https://me:hunter2-secret@example.org/torch.whl", "archive_info": {"hash": "sha256=ab"}}'
        venv.install("torch", "2.9.0", direct_url_json=url)
        origin = self.of(venv, "torch")
        assert isinstance(origin.url, Redacted)
        assert origin.archive == "sha256=ab"

    def test_of_a_document_that_is_none(self, venv: Environment) -> None:
        venv.install("torch", "2.9.0", direct_url_json="[]")
        assert self.of(venv, "torch").url == Gap("failed")

    @pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
    def test_of_an_editable_tree_the_commit_and_edits_are_told(self, venv: Environment, tmp_path: Path) -> None:
        tree = tmp_path / "my tree"
        tree.mkdir()
        (tree / "engine.py").write_text("a = 1\n")
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
            subprocess.run(["git", *words], cwd=tree, check=True)
        document = {"url": f"file://{tree}".replace(" ", "%20"), "dir_info": {"editable": True}}
        venv.install("engine", "0.1", direct_url_json=json.dumps(document))
        clean = venv.read()
        (tree / "engine.py").write_text("a = 2\n")
        edited = venv.read()
        assert set(changes(clean, edited)) == {"origins/engine/tree/dirty"}
        assert isinstance(clean.origins, Map)
        assert (clean.origins.items["engine"].tree.path, clean.origins.items["engine"].tree.dirty) == (
            str(tree), "clean",
        )  # fmt: skip

    @pytest.mark.parametrize("url", ['"src"', '"https://example.org/src"', "5"])
    def test_of_an_editable_tree_that_lies_nowhere(self, url: str, venv: Environment) -> None:
        venv.install("engine", "0.1", direct_url_json=f'{{"url": {url}, "dir_info": {{"editable": true}}}}')
        tree = self.of(venv, "engine").tree
        assert isinstance(tree.path, Gap)
        assert tree.commit == tree.dirty == tree.path

    def test_a_source_tree_on_the_path_is_one_too(self, venv: Environment, tmp_path: Path) -> None:
        info = tmp_path / "src" / "engine.egg-info"
        info.mkdir(parents=True)
        (info / "PKG-INFO").write_text("Name: engine\nVersion: 0.1\n")
        (venv.site / "easy-install.pth").write_text(f"{info.parent}\n")
        assert self.of(venv, "engine").tree.path == str(info.parent)

    @staticmethod
    def of(venv: Environment, name: str) -> Origin:
        told = venv.read()
        assert isinstance(told.origins, Map)
        return told.origins.items[name]


@pytest.mark.parametrize(
    ("name", "plain"), [("Torch", "torch"), ("a_.-b", "a-b"), ("zope.interface", "zope-interface")]
)
def test_names_are_normalised_as_the_index_does(name: str, plain: str) -> None:
    assert normalized(name) == plain


@pytest.mark.parametrize(
    ("name", "watched"),
    [
        ("torch", True),
        ("nvidia-nccl-cu12", True),
        ("flashinfer-cubin", True),
        ("click", False),
        ("torchmetrics", False),
    ],
)
def test_the_packages_that_matter_are_a_list(name: str, watched: bool) -> None:
    assert is_watched(name) == watched


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_process_with_a_file_system_of_its_own_imports_what_lies_there(venv: Environment, tmp_path: Path) -> None:
    """Nothing of ours, and of what leads out of its root nothing either."""
    venv.install("torch", "2.9.0")
    theirs = tmp_path / "theirs"
    install(theirs, "torch", "2.8.0")
    os.mkfifo(theirs / "fifo.pth")
    (theirs / "gone.pth").symlink_to("/nowhere/else")
    mounted = 'mount --bind "$0" "$1" && exec "$2" -c "import time; time.sleep(60)"'
    argv = ("unshare", "-m", "sh", "-c", mounted, str(theirs), str(venv.site), str(venv.python))
    with running(argv, env=NO_VARIABLES, cwd="/") as pid:
        told = read(pid)
    assert packages(told) == {"torch": "2.8.0"}
    assert isinstance(told.hooks, Map)
    assert told.hooks.items["fifo.pth"].sha256 == Gap("unsupported")
    assert told.hooks.items["gone.pth"].sha256 == Gap("absent")
