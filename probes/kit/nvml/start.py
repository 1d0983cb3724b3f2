"""How the process that calls NVML starts: with few imports, for these are half of what a snapshot of GPUs costs.

Nothing of site-packages is imported but nvidia-ml-py (-I -S), no .pth file does anything here, and what nvidia-ml-py
imports and uses little of is replaced by that little. A script would be compiled at each start; this module is not.
"""

import gc
import sys
import types
from _thread import allocate_lock

START = "import sys; sys.path += sys.argv[1:3]; from probes.kit.nvml.start import start; start(*sys.argv[3:])"
"""For `python -I -S -c`; its arguments are the folders of nvidia-ml-py and of this package, then those of `start`."""


def start(*arguments: str) -> None:
    """arguments: of child.main."""
    gc.disable()  # it lives for a moment, and makes no cycles
    _stand_in("ctypes.util", find_library=_find_library)
    _stand_in("string", capwords=_capwords)
    _stand_in("threading", Lock=allocate_lock)
    from probes.kit.nvml.child import main

    del sys.modules["string"], sys.modules["threading"]  # whoever else asks for these gets all of them
    main(*arguments)


def _stand_in(name: str, **members: object) -> None:
    """A module of these members, and of all of the real one's when a release to come asks for another."""

    def other(member: str) -> object:
        if member.startswith("__"):  # the import system looks for __path__ and the like
            raise AttributeError(member)
        return getattr(_real(name), member)

    module = types.ModuleType(name)
    vars(module).update(members, __getattr__=other)
    sys.modules[name] = module


def _real(name: str) -> types.ModuleType:
    sys.modules.pop(name, None)
    __import__(name)
    return sys.modules[name]


def _find_library(name: str) -> object:
    """ctypes.util's own, when it is called: it brings shutil, tempfile and subprocess."""
    return _real("ctypes.util").find_library(name)


def _capwords(text: str, sep: str) -> str:
    """string's own brings re."""
    return sep.join(map(str.capitalize, text.split(sep)))
