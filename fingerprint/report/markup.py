"""Elements of HTML and XML, made so that nothing from outside becomes markup: every text is escaped on its way in."""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias, Union

from fingerprint.words import clean

_VOID = frozenset({"br", "input", "meta"})


class Html(str):
    """Markup already: it is not escaped again. Made by `tag`, `path` and `join`, and of files of ours."""

    __slots__ = ()


Child: TypeAlias = Union[str, Iterable["Child"], None]


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """One element. attributes: `class_` and `aria_label` are written as HTML has them; None and False leave one out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items() if _is_told(value))
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Child) -> Html:
    """The children below each other."""
    if isinstance(children, Html):
        return children
    if isinstance(children, str):
        return Html(escape(clean(children)))
    return Html("".join(map(join, children or ())))


def arrows(text: str) -> str:
    """With an arrow between what was and what is; where ` -> ` stands more than once a value may hold it."""
    return text.replace(" -> ", " \N{RIGHTWARDS ARROW} ") if text.count(" -> ") == 1 else text


def path(fact: str) -> Html:
    """A fact's path, which may be broken after each segment."""
    return tag("code", Html(join(fact).replace("/", "/<wbr>")))


def _is_told(value: object) -> bool:
    return value is not None and value is not False


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(clean(str(value)))}"'
