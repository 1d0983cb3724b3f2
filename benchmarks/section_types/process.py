"""One fresh process of one variant: prints what each step took, in ms, as JSON.

python -m benchmarks.section_types.process KIT FOLDER
"""

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
steps: dict[str, float] = {}


def timed(step: str, work: Callable[[], T]) -> T:
    began = time.perf_counter()
    result = work()
    steps[step] = (time.perf_counter() - began) * 1000
    return result


def main(kit: str, folder: str) -> None:
    timed("kit", lambda: importlib.import_module(kit))
    sys.path.insert(0, folder)
    modules: list[Any] = timed("classes", lambda: [importlib.import_module(f"area{n:02}") for n in range(30)])
    sections = timed("build", lambda: [module.build() for module in modules])
    texts = timed("dump", lambda: [module.dump(section) for module, section in zip(modules, sections, strict=True)])
    loaded = timed("load", lambda: [module.load(text) for module, text in zip(modules, texts, strict=True)])
    if loaded != sections:
        raise SystemExit("what was loaded is not what was dumped")
    steps["sum"] = sum(steps.values())
    steps["bytes"] = sum(map(len, texts))
    with open("/proc/self/status", encoding="ascii") as status:
        steps["rss_mb"] = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    print(json.dumps(steps))


if __name__ == "__main__":
    main(*sys.argv[1:])
