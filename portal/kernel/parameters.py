"""Which query parameters does an address know? A typo is refused: it must not return everything."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from portal.kernel.errors import Invalid


def refuse_unknown(given: Iterable[str], known: Collection[str] = ()) -> None:
    """Invalid for every name in `given` that isn't `known`; `format` always is."""
    unknown = sorted(set(given) - set(known) - {"format"})
    if unknown:
        says = f"Known: {', '.join(sorted(known))}." if known else "There are none here."
        raise Invalid({name[:60]: [f"There is no such parameter. {says}"] for name in unknown})
