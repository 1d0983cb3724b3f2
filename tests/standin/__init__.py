"""Stand-in servers: the process tree, titles, arguments and port of SGLang, vLLM and llama.cpp, and nothing behind."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from tests.waiting import until

Engine = Literal["sglang", "vllm", "llama.cpp"]

_PROCESS = Path(__file__).with_name("process.py")
_SHIM = """\
import runpy, sys
sys.argv[:] = [{path!r}, {engine!r}, *sys.argv[1:]]
runpy.run_path({path!r}, run_name="__main__")
"""
# Its environment holds next to nothing, so that a run of a stand-in reads next to nothing.
_PYTHON = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
_FILES: Mapping[Engine, str] = {"sglang": "sglang/launch_server.py", "vllm": "bin/vllm", "llama.cpp": "llama-server"}


class StandIn:
    """One server that can be started again and again in one folder, with one thing changed in between."""

    def __init__(self, folder: Path, engine: Engine, *, size: int = 1, port: int | None = None) -> None:
        self.folder = folder
        self.engine = engine
        self.size = size
        self.port = free_port() if port is None else port
        program = folder / _FILES[engine]
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(_SHIM.format(path=str(_PROCESS), engine=engine))

    @property
    def command(self) -> list[str]:
        """How its users start it."""
        port = ["--port", str(self.port)]
        if self.engine == "sglang":
            return [_PYTHON, "-m", "sglang.launch_server", "--model-path", "/m", "--tp", str(self.size), *port]
        if self.engine == "vllm":
            size = ["--tensor-parallel-size", str(self.size)]
            return [_PYTHON, str(self.folder / "bin/vllm"), "serve", "/m", *size, *port]
        return [_PYTHON, str(self.folder / "llama-server"), "-m", "/m.gguf", *port]

    def differ(self, **by_title: Mapping[str, Any]) -> None:
        """What of its processes is to differ: see process.py. Titles are written with `_` for `::`."""
        told = {title.replace("__", "::", 1): its for title, its in by_title.items()}
        (self.folder / "differs.json").write_text(json.dumps(told))

    def stop(self) -> None:
        (self.folder / "stop").touch()

    def serves(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    @contextmanager
    def serving(self, env: Mapping[str, str] | None = None) -> Iterator["subprocess.Popen[bytes]"]:
        """Runs until the context is left, or `stop`."""
        (self.folder / "stop").unlink(missing_ok=True)
        with subprocess.Popen(self.command, cwd=self.folder, env={**os.environ, **(env or {})}) as launcher:
            try:
                until(lambda: self.serves() or launcher.poll() is not None)
                assert launcher.poll() is None, "it ended before it served"
                yield launcher
            finally:
                self.stop()
                launcher.wait(10)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
