"""An environment whose torch is a stand-in, on a host that seems to have a GPU."""

import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from fingerprint.canary import measure
from fingerprint.canary.measure import Serving, measured
from fingerprint.metrics import Metric

Gpus = Callable[..., dict[str, Metric]]


def environment(home: Path) -> Path:
    """Its Python: a link to this one's base, as venv makes it (PEP 405)."""
    packages = home / f"lib/python{sysconfig.get_python_version()}/site-packages"
    packages.mkdir(parents=True)
    base = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    (home / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    (home / "bin").mkdir()
    (home / "bin/python").symlink_to(base)
    shutil.copy(Path(__file__).with_name("standin_torch.py"), packages / "torch.py")
    return home / "bin/python"


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gpus:
    """What the canary tells of GPUs where torch does so: by name, without the moment."""
    python = environment(tmp_path / "env")
    text = measure._text
    shorter = {b"SECONDS = 2.0": b"SECONDS = 0.05"}
    monkeypatch.setattr(measure, "DEVICES", (str(tmp_path),))
    monkeypatch.setattr(measure, "HOST_SECONDS", 0.0)
    monkeypatch.setattr(measure, "_text", lambda it: _with(text(it), shorter))

    def told(wrong: str = "", seconds: float = 20.0) -> dict[str, Metric]:
        monkeypatch.setattr(measure, "GPU_SECONDS", seconds)
        serving = Serving((str(python), "serve.py"), {"CUDA_STANDIN": wrong, "SECRET": "s"}, "/")
        found = (metric for metric in measured("before", serving) if "/gpu" in metric.name)
        return {metric.name.removeprefix("canary/before/"): metric for metric in found}

    return told


def _with(text: bytes, changes: dict[bytes, bytes]) -> bytes:
    for was, becomes in changes.items():
        text = text.replace(was, becomes)
    return text
