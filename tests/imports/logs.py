"""Logs of `nvidia-smi -q -x` that others wrote: FINGERPRINT_CORPUS names the folder."""

import os
import re
from pathlib import Path

from tests.imports.capture import captured

CORPUS = os.environ.get("FINGERPRINT_CORPUS", "")
LOGS = sorted(Path(CORPUS).glob("raw/nvidia-smi-xml/*.xml")) if CORPUS else []


def flat(log: Path) -> set[str]:
    return {re.sub(r"\[\d+\]", "", place) for place in captured(log.read_text(), everything=True)}
