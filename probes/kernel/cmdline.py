"""What the kernel was started with, by parameter, split and named as lib/cmdline.c and kernel/params.c do it."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile

from probes.kit.facts import Map, Seen
from probes.kit.flags import END, Words
from probes.kit.redact import Redactor, has_secret

_OF_THE_BOOT_LOADER = ("BOOT_IMAGE=", "initrd=")  # repeat the release in a file's name


def parameters(command_line: str, redactor: Redactor) -> Map[Seen[Words]]:
    """The values of each parameter in their order; none of a bare word. Under `--` stands what the kernel hands to
    the first program, and what is private and has no name."""
    words = split(command_line)
    ours = list(takewhile(lambda word: word != END, words))
    found: dict[str, Words] = {}
    for name, values in _each(ours, redactor):
        found[name] = (*found.get(name, ()), *values)
    if theirs := redactor.arguments(words[len(ours) + 1 :]):
        found[END] = (*found.get(END, ()), *theirs)
    return Map(found)


def split(command_line: str) -> list[str]:
    """At white space outside of double quotes (next_arg), without the boot loader's own words."""
    words = re.findall(r'(?:"[^"]*(?:"|$)|[^\s"])+', command_line)
    return [word for word in words if not word.startswith(_OF_THE_BOOT_LOADER)]


def _each(words: Sequence[str], redactor: Redactor) -> Iterator[tuple[str, Words]]:
    """`-` and `_` are one in a name (parameq); quotes around a value, or around the whole, are none of it."""
    for word, told in zip(words, redactor.each(words), strict=True):
        private = told != (word,)
        name, equals, value = word.strip('"').partition("=")
        if not name or (private and (not equals or has_secret(name))):
            yield END, (redactor.redacted(word) if private else word,)
        else:
            shown = redactor.redacted if private else partial(redactor.assigned, name)
            yield name.replace("-", "_"), (shown(value.strip('"')),) if equals else ()
