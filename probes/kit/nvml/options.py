"""How NVML is used here, as the settings say."""

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """library     `auto`: opened where a driver is loaded; `on`: opened whatever the host looks like; `off`: never;
                a path: this file in place of libnvidia-ml.so.1, whatever the host looks like
    budget_s    seconds for one pass over all GPUs
    gpu_budget_s  seconds that the calls about one GPU may take in a pass, and that one call may take
    lock        the file that whoever calls NVML holds; empty for the host's usual place
    """

    library: str = "auto"
    budget_s: float = 3.0
    gpu_budget_s: float = 1.5
    lock: str = ""

    @property
    def file(self) -> str:
        """What is handed to dlopen(3)."""
        return self.library if "/" in self.library else "libnvidia-ml.so.1"
