"""How does nvidia-smi write its XML: elements indented by tabs, each value a text?"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    # One element: a name with its text, or a name with its children.
    Element = tuple[str, "str | list[Element]"]

BARE = ""  # the "name" of a word that stands alone in its parent


def rendered(elements: list[Element], depth: int) -> str:
    """Elements indented by tabs, as nvidia-smi writes them."""
    lines = []
    tabs = "\t" * depth
    for name, value in elements:
        if name == BARE:
            lines.append(f"{tabs}{value}\n")
        elif isinstance(value, str):
            lines.append(f"{tabs}<{name}>{value}</{name}>\n")
        else:
            lines.append(f"{tabs}<{name}>\n{rendered(value, depth + 1)}{tabs}</{name}>\n")
    return "".join(lines)


def block(name: str, **children: str) -> Element:
    return name, list(children.items())


def not_available(name: str, *children: str) -> Element:
    return name, [(child, "N/A") for child in children]
