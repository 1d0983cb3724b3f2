import subprocess
import sys
from pathlib import Path

import pytest

import probes
from probes.kit.facts import Section
from probes.kit.host import Host
from probes.kit.probe import HOST, Probe, Target, areas, discover, probe

ROOT = Path(probes.__file__).parents[1]


class Something(Section):
    pass


def a_reader(host: Host, target: Target) -> Something:
    return Something()


a_reader.__module__ = "probes.madeup.inner"


def test_a_probe_takes_its_area_from_its_module_and_its_type_from_its_annotation() -> None:
    made = probe(of="process", budget=0.5, cadence="tick")(a_reader)
    assert made == Probe("madeup", "process", Something, a_reader, 0.5, "tick")


def test_a_probe_has_a_second_and_is_read_at_the_borders_unless_it_says_otherwise() -> None:
    made = probe(of="host")(a_reader)
    assert (made.budget, made.cadence) == (1.0, "border")


def test_a_probe_may_be_read_in_another_way_when_it_is_sampled() -> None:
    def what_moves(host: Host, target: Target) -> Something:
        return Something()

    made = probe(of="host", sample=what_moves)(a_reader)
    assert (made.read, made.at_samples.read) == (a_reader, what_moves)
    plain = probe(of="host")(a_reader)
    assert plain.at_samples is plain


def test_the_host_has_no_name_and_stands_in_no_path() -> None:
    assert Target("", 0) == HOST


def test_the_areas_are_the_modules_beside_the_kit() -> None:
    (folder,) = probes.__path__
    modules = {path.stem for path in Path(folder).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(areas()) == modules - {"kit", "__init__"}


def test_those_that_are_not_about_the_host_are_told_without_an_import() -> None:
    assert tuple(area for area, one in discover().items() if one.of != "host") == probes.NOT_OF_THE_HOST


def test_listing_the_areas_imports_none_of_them() -> None:
    program = (
        "import sys; from probes.kit.probe import areas; names = areas()\n"
        "print([n for n in names if 'probes.' + n in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_discovery_imports_what_it_was_asked_for_and_nothing_else() -> None:
    area = areas()[0]
    program = (
        f"import sys; from probes.kit.probe import areas, discover; found = discover([{area!r}])\n"
        "print(list(found), [n for n in areas() if 'probes.' + n in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == f"[{area!r}] [{area!r}]\n"


def test_every_area_is_discovered_under_its_own_name() -> None:
    found = discover()
    assert tuple(found) == areas()
    assert all(area == one.area for area, one in found.items())


def test_an_unknown_area_is_refused_by_its_name() -> None:
    with pytest.raises(KeyError, match="warpdrive"):
        discover(["warpdrive"])
