"""nvidia-smi's log without what names a board, its chassis, its fabric or what people run."""

import re

FORMS = {
    "serial": "16{:011d}",
    "chassis_serial_number": "18{:011d}",
    "uuid": "GPU-00000000-0000-4000-8000-{:012x}",
    "clusterUuid": "00000000-0000-4000-9000-{:012x}",
    "pdi": "0x{:016x}",
    "gpu_fabric_guid": "0x{:016x}",
    "process_name": "/usr/bin/program-{}",
}
_NAMED = re.compile(rf"<({'|'.join(FORMS)})>([^<]*[1-9A-Za-z][^<]*)</")
_KEPT = ("N/A", "[N/A]", "GPU is lost", "Unknown Error", "Not Found")


def anonymous(xml: str) -> str:
    known: dict[tuple[str, str], str] = {}

    def stand_in(match: re.Match[str]) -> str:
        name, value = match.groups()
        if value.strip() in _KEPT:
            return match[0]
        number = sum(1 for other, _ in known if other == name) + 1
        return f"<{name}>{known.setdefault((name, value), FORMS[name].format(number))}</"

    return _NAMED.sub(stand_in, xml)
