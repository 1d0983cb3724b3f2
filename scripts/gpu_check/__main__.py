"""`scripts/gpu-check bundle DIR` builds the folder; `scripts/gpu-check OUT` checks the machine that it runs on."""

import sys
from pathlib import Path

if sys.argv[1:2] == ["bundle"] and len(sys.argv) == 3:
    from gpu_check.bundle import build

    sys.stdout.write(f"{build(Path(sys.argv[2]))}\n")
else:
    from gpu_check.machine import main

    sys.exit(main(sys.argv[1:]))
