"""Settings come from files, the environment and flags; the later wins, and who is refused is told why."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fingerprint import settings as settings_module
from fingerprint.settings import Settings, SettingsError, load, values
from probes.kit.nvml.options import Options


@pytest.fixture(autouse=True)
def no_system_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unknown_user: None) -> Path:
    """Stands for /etc/fingerprint."""
    monkeypatch.setattr(settings_module, "SYSTEM_CONFIG", tmp_path / "etc")
    return tmp_path / "etc"


def user_file(tmp_path: Path, text: str) -> dict[str, str]:
    """An environment whose own config.toml holds `text`."""
    _write(tmp_path / "config" / "fingerprint", text)
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def _write(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


def refusal(environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> str:
    with pytest.raises(SettingsError) as refused:
        load(environ, flags)
    return str(refused.value)


def test_without_any_source_all_is_default() -> None:
    assert load({}) == Settings()
    assert {value.origin for value in values({})} == {"default"}


def test_the_later_source_wins_key_by_key_and_is_named(tmp_path: Path, no_system_config: Path) -> None:
    _write(no_system_config, 'budget_s = 1\ncolor = "never"\nstore = "/etc.db"\n[sampling]\nthen_hz = 9\n')
    environ = user_file(tmp_path, 'budget_s = 2\ncolor = "always"\n') | {"FINGERPRINT_BUDGET_S": "3"}
    flags = {"budget_s": 4, "color": None}
    found = load(environ, flags)
    assert (found.budget_s, found.color, found.store, found.sampling.then_hz) == (4, "always", "/etc.db", 9)
    origins = {value.key: value.origin for value in values(environ, flags)}
    assert origins["budget_s"] == "--budget-s"
    assert origins["color"] == str(tmp_path / "config/fingerprint/config.toml")
    assert origins["store"] == origins["sampling.then_hz"] == str(no_system_config / "config.toml")
    assert origins["sampling.first_minute_hz"] == "default"


def test_home_stands_in_for_an_unset_or_relative_xdg_folder(tmp_path: Path) -> None:
    _write(tmp_path / ".config" / "fingerprint", "budget_s = 2")
    assert load({"HOME": str(tmp_path)}).budget_s == 2
    assert load({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "here"}).budget_s == 2


def test_a_list_in_the_environment_is_separated_by_commas() -> None:
    assert load({"FINGERPRINT_REDACTION_ALLOW": "MY_FLAG, OTHER,"}).redaction.allow == ("MY_FLAG", "OTHER")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("buget_s = 3", "buget_s is no setting: did you mean budget_s?"),
        ("[sampling]\nthen = 3", "sampling.then is no setting: did you mean sampling.then_hz?"),
        ("qqq = 3", "qqq is no setting: there are store, budget_s, color, deep, nvml, nvml_budget_s, "),
        ("budget_s = '3'", "budget_s is '3', but must be a valid number"),
        ("budget_s = true", "budget_s is True, but must be a valid number"),
        ("budget_s = 0", "budget_s is 0, but must be greater than 0"),
        ("budget_s = inf", "budget_s is inf, but must be less than or equal to 3600"),
        ("deep = 1", "deep is 1, but must be a valid boolean"),
        ("color = 'red'", "color is 'red', but must be 'auto', 'always' or 'never'"),
        ("sampling = 5", "sampling is 5, but must be a table"),
        ("'sampling.then_hz' = 5\nsampling = 3", "sampling is 3, but must be a table (and 1 more)"),
        ("store = 'runs.db'", "store is 'runs.db', but must begin with / or ~/"),
        (r'store = "/a\u0000b"', r"store is '/a\x00b', but must begin with / or ~/"),
        ("[redaction]\nkey_file = 'team.key'", "redaction.key_file is 'team.key', but must begin with / or ~/"),
        ("store = {}", "store is {}, but must be a valid string"),
        ("nvml = 'yes'", "nvml is 'yes', but must be 'auto', 'on', 'off' or begin with / or ~/"),
        (r'nvml = "/a\u0000b"', r"nvml is '/a\x00b', but must be 'auto', 'on', 'off' or begin with / or ~/"),
        ("nvml_lock = 'lock'", "nvml_lock is 'lock', but must be '' or begin with / or ~/"),
        ("nvml_gpu_budget_s = 0", "nvml_gpu_budget_s is 0, but must be greater than 0"),
        (
            "nvml_budget_s = 10",
            "nvml_budget_s is 10, but the whole snapshot has budget_s = 5: set budget_s to 11 or more",
        ),
        ("[redaction]\nallow = 'A'", "redaction.allow is 'A', but must be a valid list"),
        ("[redaction]\nallow = ['A', 3]", "redaction.allow.1 is 3, but must be a valid string"),
    ],
)
def test_a_refused_file_is_named_with_its_key_what_was_found_and_what_is_due(
    tmp_path: Path, text: str, words: str
) -> None:
    told = refusal(user_file(tmp_path, text))
    assert told.startswith(f"{tmp_path}/config/fingerprint/config.toml: {words}")
    assert "\n" not in told


def test_what_is_not_toml_or_not_text_is_told_with_the_file(tmp_path: Path) -> None:
    assert "config.toml is not TOML: " in refusal(user_file(tmp_path, "budget_s ="))
    environ = user_file(tmp_path, "")
    (tmp_path / "config/fingerprint/config.toml").write_bytes(b"\xff")
    assert "config.toml is not TOML: " in refusal(environ)


def test_a_config_file_that_is_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "fingerprint/config.toml").mkdir(parents=True)
    assert refusal({"XDG_CONFIG_HOME": str(tmp_path)}).endswith(
        "config.toml cannot be read (Is a directory): mend or remove it"
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "is no regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "is no regular file"),
        (lambda path: path.symlink_to(path), "cannot be read (Too many levels of symbolic links)"),
        (lambda path: path.write_bytes(bytes(2 << 20)), "is larger than 1024 KiB"),
        (lambda path: path.write_text("a = " + "[" * 5000), "is not TOML"),
    ],
)
def test_a_config_file_of_another_kind_is_told_at_once(tmp_path: Path, make: Any, words: str) -> None:
    (tmp_path / "fingerprint").mkdir()
    make(tmp_path / "fingerprint/config.toml")
    told = refusal({"XDG_CONFIG_HOME": str(tmp_path)})
    assert f"config.toml {words}" in told
    assert "\n" not in told


def test_variables_and_flags_are_refused_by_their_own_names() -> None:
    told = refusal({"FINGERPRINT_BUDGET_S": "soon"})
    assert told == "FINGERPRINT_BUDGET_S: budget_s is 'soon', but must be a valid number"
    told = refusal({"FINGERPRINT_SAMPLING_THEN_HZ": "0"})
    assert told == "FINGERPRINT_SAMPLING_THEN_HZ: sampling.then_hz is 0.0, but must be greater than 0"
    told = refusal({"FINGERPRINT_BUDGET_S": "\udcff"})
    assert told == r"FINGERPRINT_BUDGET_S: budget_s is '\\udcff', but must be a valid number"
    assert load({"FINGERPRINT_STORE": "runs.db"}).store == "runs.db"
    assert refusal({}, {"budget_s": -1}) == "--budget-s: budget_s is -1, but must be greater than 0"


@pytest.mark.parametrize(
    ("text", "deep"), [("true", True), ("True", True), ("1", True), ("false", False), ("0", False), ("", False)]
)
def test_a_switch_in_the_environment_is_a_word_or_a_digit(text: str, deep: bool) -> None:
    assert load({"FINGERPRINT_DEEP": text}).deep is deep


def test_another_word_for_a_switch_is_refused() -> None:
    told = refusal({"FINGERPRINT_DEEP": "perhaps"})
    assert told == "FINGERPRINT_DEEP: deep is 'perhaps', but must be a valid boolean"


def test_a_slip_in_a_variable_is_refused_and_another_products_variable_is_not() -> None:
    told = refusal({"FINGERPRINT_BUGET_S": "3"})
    assert told == "FINGERPRINT_BUGET_S in the environment is no setting: did you mean FINGERPRINT_BUDGET_S?"
    assert load({"FINGERPRINT_API_KEY": "x", "FINGERPRINT_CORPUS": "/data"}) == Settings()


def test_nvml_is_used_as_the_settings_say() -> None:
    environ = {"FINGERPRINT_NVML": "~/lib.so", "FINGERPRINT_NVML_BUDGET_S": "9", "FINGERPRINT_BUDGET_S": "10"}
    options = load(environ | {"FINGERPRINT_NVML_LOCK": "/run/gpus"}).nvml_options
    assert (options.file, options.budget_s) == (os.path.expanduser("~/lib.so"), 9)
    assert (options.gpu_budget_s, options.lock) == (1.5, "/run/gpus")
    assert load({}).nvml_options == Options()


def test_a_relative_name_of_nvml_is_refused_from_wherever_it_comes() -> None:
    told = refusal({"FINGERPRINT_NVML": "./libnvidia-ml.so.1"})
    assert told == (
        "FINGERPRINT_NVML: nvml is './libnvidia-ml.so.1', but must be 'auto', 'on', 'off' or begin with / or ~/"
    )


def test_one_snapshot_in_a_hurry_gives_nvml_less_time() -> None:
    options = load({}, {"budget_s": 1}).nvml_options
    assert (options.budget_s, options.gpu_budget_s) == (0.8, 0.8)
    slow = {"FINGERPRINT_NVML_BUDGET_S": "9", "FINGERPRINT_BUDGET_S": "10"}
    assert load(slow, {"budget_s": 5}).nvml_options.budget_s == 4
    assert load({"FINGERPRINT_BUDGET_S": "2"}).nvml_options.budget_s == 1.6


def test_an_area_to_skip_must_exist() -> None:
    assert "areas.skip names 'nothing-like-it', which is no area" in refusal(
        {"FINGERPRINT_AREAS_SKIP": "nothing-like-it"}
    )


@given(st.text(), st.text())
def test_whatever_a_variable_holds_is_taken_or_refused_in_one_sentence(budget: str, allow: str) -> None:
    environ = {"FINGERPRINT_BUDGET_S": budget, "FINGERPRINT_REDACTION_ALLOW": allow}
    try:
        found = load(environ)
    except SettingsError as refused:
        told = str(refused)
    else:
        assert 0 < found.budget_s <= 3600
        return
    assert told.startswith("FINGERPRINT_BUDGET_S: budget_s is ")


@pytest.mark.parametrize(
    ("color", "environ", "terminal", "colored"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {}, True, False),
    ],
)
def test_colour_is_for_terminals_unless_somebody_said_otherwise(
    color: Any, environ: dict[str, str], terminal: bool, colored: bool
) -> None:
    assert Settings(color=color).colored(environ, terminal=terminal) is colored


def test_accepted_settings_import_no_pydantic(tmp_path: Path) -> None:
    """pydantic costs more than a whole snapshot."""
    code = (
        "import sys, os; from fingerprint.settings import load; load(os.environ); sys.exit('pydantic' in sys.modules)"
    )
    environ = user_file(tmp_path, "budget_s = 2") | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environ, check=False).returncode == 0


def test_the_readme_shows_every_setting_in_a_file_that_is_accepted(tmp_path: Path) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    _, _, rest = readme.partition("    # config.toml\n")
    example = dedent(rest.partition("\n## ")[0])
    found = values(user_file(tmp_path, example))
    assert [value.key for value in found if value.origin == "default"] == []
