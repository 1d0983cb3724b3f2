"""Logs of `nvidia-smi -q -x` in this repository's own form: the path of each element -> its text.

`python -m tests.imports.capture LOG.xml > tests/imports/captures/PRODUCT-DRIVER.json` records one, with stand-ins for
what names a board or a person.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

Capture = dict[str, str]

CAPTURES = Path(__file__).parent / "captures"
ROOT = "nvidia_smi_log"
GPUS = 2
"""Recorded of a host; the others of one product repeat them."""
LEFT_OUT = {"supported_clocks", "timestamp"}
STAND_INS = {
    "serial": "16500000000{:02d}",
    "uuid": "GPU-00000000-0000-4000-8000-{:012d}",
    "pdi": "0x{:016x}",
    "gpu_fabric_guid": "0x{:016x}",
    "chassis_serial_number": "18200000000{:02d}",
    "clusterUuid": "00000000-0000-4000-9000-{:012d}",
    "process_name": "/usr/bin/program-{}",
}
_STEP = re.compile(r"(?P<name>\w+)(?:\[(?P<number>\d+)\])?")
_TELLS = re.compile(r"\d")  # `N/A` and `GPU is lost` name nobody


def names() -> list[str]:
    return sorted(path.stem for path in CAPTURES.glob("*.json"))


def load(name: str) -> Capture:
    capture: Capture = json.loads((CAPTURES / f"{name}.json").read_text())
    return capture


def xml_of(capture: Capture) -> str:
    """The log again, but for what was left out."""
    root = Element(ROOT)
    for path, text in capture.items():
        place, _, attribute = path.partition("@")
        element = _at(root, place)
        if attribute:
            element.set(attribute, text)
        else:
            element.text = text
    return f'<?xml version="1.0" ?>\n<!DOCTYPE {ROOT} SYSTEM "nvsmi_device_v13.dtd">\n{tostring(root, "unicode")}\n'


def _at(root: Element, place: str) -> Element:
    for step in place.split("/"):
        found = _STEP.fullmatch(step)
        assert found is not None, place
        same = root.findall(found["name"])
        number = int(found["number"] or 1)
        root = same[number - 1] if number <= len(same) else SubElement(root, found["name"])
    return root


def captured(xml: str, *, everything: bool = False) -> Capture:
    root = fromstring(xml)
    if not everything:
        for gpu in root.findall("gpu")[GPUS:]:
            root.remove(gpu)
    return {place: text for place, text in _flat(root, "") if everything or not set(place.split("/")) & LEFT_OUT}


def _flat(element: Element, above: str) -> Iterator[tuple[str, str]]:
    seen: dict[str, int] = {}
    for child in element:
        seen[child.tag] = seen.get(child.tag, 0) + 1
        alone = len(element.findall(child.tag)) == 1
        place = f"{above}{child.tag}{'' if alone else f'[{seen[child.tag]}]'}"
        yield from ((f"{place}@{name}", value) for name, value in child.attrib.items())
        if len(child):
            yield from _flat(child, f"{place}/")
        else:
            yield place, (child.text or "").strip()


def without_names(capture: Capture) -> Capture:
    """Each board's and person's own values by numbered stand-ins, the same one for the same value."""
    known: dict[tuple[str, str], str] = {}
    shown: Capture = {}
    for place, text in capture.items():
        kind = place.rpartition("/")[2].partition("[")[0]
        number = sum(1 for other, _ in known if other == kind) + 1
        named = kind in STAND_INS and _TELLS.search(text)
        shown[place] = known.setdefault((kind, text), STAND_INS[kind].format(number)) if named else text
    return shown


if __name__ == "__main__":
    print(json.dumps(without_names(captured(Path(sys.argv[1]).read_text())), indent=1))
