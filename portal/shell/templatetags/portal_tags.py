"""Words and small drawings that templates share: filters and tags loaded into every template."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from portal.kernel import units
from portal.kernel.clock import now
from portal.shell.addresses import page_of
from portal.shell.icons import ICONS, MARKS
from portal.shell.tones import tone_of, word_of

register = template.Library()

_JUST_NOW = timedelta(seconds=45)
_LONG_AGO = timedelta(days=30)


@register.filter
def span(value: timedelta | None) -> str:
    """A duration in words; an unknown one is a dash."""
    return "–" if value is None else units.say_span(value)


@register.filter
def seconds(value: float | None) -> str:
    """Seconds as a duration in words; unknown ones are a dash."""
    return "–" if value is None else units.say_span(timedelta(seconds=round(value)))


@register.filter
def hours(seconds: float | None) -> str:
    """Signed seconds as hours with one digit: `+103.1 h`."""
    return "–" if seconds is None else f"{seconds / 3600:+.1f} h".replace("-", "−")


@register.filter
def share(value: float | None) -> str:
    """A share in [0, 1] as a percentage; an unknown one is a dash."""
    return "–" if value is None else units.say_share(value)


@register.filter
def quantity(value: float | None) -> str:
    """A quantity with thin thousands; None is a dash, nought is 0. For limits use `limit`."""
    if value is None:
        return "–"
    return f"{value:,}".replace(",", "\u202f")


@register.filter
def counted(value: float | None, unit: str) -> str:
    """A quantity with its unit: `4 nodes`, `1 node`, `20 TB`; units are given in the plural."""
    singular = unit[:-1] if value == 1 and unit.endswith("s") else unit
    return f"{quantity(value)} {singular}".rstrip()


@register.filter
def limit(value: int | None) -> str:
    """A limit: NULL is unlimited, 0 is none at all and says 0."""
    return "unlimited" if value is None else quantity(value)


@register.filter
def lines(texts: Iterable[str]) -> str:
    """Several texts as the lines of one."""
    return "\n".join(texts)


@register.filter
def tail(name: str) -> str:
    """What tells `gpu-007` from its neighbours where room is short: `7`."""
    digits = re.search(r"(\d+)\D*$", name)
    return digits[1].lstrip("0") or "0" if digits else name[:3]


@register.filter
def tone(state: object) -> str:
    """The tone of a state, for classes such as `is-ok`."""
    return str(tone_of(str(state)))


@register.filter
def state_word(state: object) -> str:
    """A state as people read it."""
    return word_of(str(state))


@register.simple_tag
def icon(name: str) -> SafeString:
    """A line icon; decoration only, so hidden from screen readers."""
    return format_html(
        '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"'
        ' stroke-linejoin="round" aria-hidden="true" focusable="false"><path d="{}"/></svg>',
        ICONS[name],
    )


@register.simple_tag
def state_chip(state: object, label: str = "") -> SafeString:
    """A chip for any state of the house: tone, mark and word. None is `not measured`."""
    value = "not_measured" if state is None or state == "" else str(state)
    return _chip(str(tone_of(value)), label or word_of(value), state=value)


@register.simple_tag
def tone_chip(tone_name: str, label: str) -> SafeString:
    """A chip of a tone of one's own choice."""
    return _chip(tone_name, label, state="")


def _chip(tone_name: str, label: str, *, state: str) -> SafeString:
    mark = format_html(
        '<svg viewBox="0 0 12 12" fill="currentColor" fill-rule="evenodd" aria-hidden="true" focusable="false">'
        '<path d="{}"/></svg>',
        MARKS[tone_name],
    )
    return format_html(
        '<span class="chip chip-{}" data-state="{}">{}{}</span>', tone_name, state, mark, label
    )


@register.simple_tag
def simulated_chip() -> SafeString:
    """Says that a node isn't real. Shown wherever a simulated node or cluster is."""
    return mark_safe('<span class="chip chip-simulated">simulated</span>')  # noqa: S308 - a constant


@register.simple_tag
def ref_link(ref: str) -> SafeString:
    """`T-12` as a link to its page; plain where there is no such page, a dash for an empty ref."""
    if not ref:
        return mark_safe('<span class="muted">–</span>')  # noqa: S308 - a constant
    url = page_of(ref)
    if not url:
        return format_html('<span class="ref">{}</span>', ref)
    return format_html('<a class="ref" href="{}">{}</a>', url, ref)


@register.simple_tag
def person(user: Any) -> SafeString:
    """A person by their name, else their user name; nobody is the portal itself."""
    if user is None:
        return mark_safe('<span class="person person-system">Quartermaster</span>')  # noqa: S308 - a constant
    name = user.get_full_name() or user.get_username()
    return format_html('<span class="person" title="{}">{}</span>', user.get_username(), name)


@register.simple_tag
def moment(at: datetime | None) -> SafeString:
    """A moment as people say it, with the exact time on hover and for machines; None is a dash."""
    if at is None:
        return mark_safe('<span class="muted">–</span>')  # noqa: S308 - a constant
    local = timezone.localtime(at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        local.strftime("%Y-%m-%d %H:%M:%S %Z"),
        _say_moment(at, local),
    )


@register.simple_tag
def exact(at: datetime | None) -> SafeString:
    """A moment to the minute, in the reader's zone: what is due is no matter of about. None is a dash."""
    if at is None:
        return mark_safe('<span class="muted">–</span>')  # noqa: S308 - a constant
    local = timezone.localtime(at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        local.strftime("%Y-%m-%d %H:%M:%S %Z"),
        local.strftime("%a %-d %b %H:%M"),
    )


@register.simple_tag
def day(at: date | None) -> SafeString:
    """A date with its weekday, for promises and lease ends; None is a dash."""
    if at is None:
        return mark_safe('<span class="muted">–</span>')  # noqa: S308 - a constant
    local = timezone.localtime(at) if isinstance(at, datetime) else at
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), local.strftime("%a %-d %b %Y"))


def _say_moment(at: datetime, local: datetime) -> str:
    distance = now() - at
    if abs(distance) < _JUST_NOW:
        return "just now"
    if abs(distance) > _LONG_AGO:
        return local.strftime("%-d %b %Y")
    said = units.say_span(_coarse(abs(distance)))
    return f"in {said}" if distance < timedelta(0) else f"{said} ago"


def _coarse(distance: timedelta) -> timedelta:
    """Only the largest unit, as people speak."""
    seconds = int(distance.total_seconds())
    for size in (86400, 3600, 60):
        if seconds >= size:
            return timedelta(seconds=seconds // size * size)
    return timedelta(seconds=seconds)


@register.simple_tag
def bar(done: float, total: float, label: str, tone_name: str = "") -> SafeString:
    """A progress bar; `label` says in words what it measures. An empty whole shows an empty bar.

    Without a tone it is active until it is full, and ok then.
    """
    tone_name = tone_name or ("ok" if 0 < total <= done else "active")
    return format_html(
        '<progress class="bar bar-{}" max="{}" value="{}" aria-label="{}">{} of {}</progress>',
        tone_name,
        max(total, 1),
        round(max(0, min(done, total)), 4),
        label,
        round(done, 2),
        total,
    )


@register.simple_tag
def split_bar(whole: float, label: str, **parts: float) -> SafeString:
    """A bar of several tones: `{% split_bar 64 "48 of 64 GPUs used" ok=40 info=8 %}`; what is left stays empty."""
    rects: list[tuple[str, str, str]] = []
    start = 0.0
    for tone_name, amount in parts.items():
        width = max(0.0, amount) / whole * 100 if whole > 0 else 0.0
        width = min(width, 100.0 - start)
        rects.append((tone_name, f"{start:.2f}", f"{width:.2f}"))
        start += width
    drawn = format_html_join("", '<rect class="tone-{}" x="{}" y="0" width="{}" height="6"/>', rects)
    return format_html(
        '<svg class="split-bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        label,
        drawn,
    )


@register.simple_tag
def signed_bar(value: float, largest: float) -> SafeString:
    """A bar left or right of zero, its length relative to `largest`; the number beside it says the value."""
    length = min(1.0, abs(value) / largest) * 50 if largest > 0 else 0.0
    return format_html(
        '<svg class="signed" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<rect class="{}" x="{}" y="1" width="{}" height="6"/><rect class="axis" x="49.8" y="0" width="0.4" height="8"/></svg>',
        "minus" if value < 0 else "plus",
        f"{50 - length if value < 0 else 50:.2f}",
        f"{length:.2f}",
    )


@register.filter
def largest(values: Iterable[float]) -> float:
    """The largest magnitude, to scale signed bars by."""
    return max((abs(value) for value in values), default=0.0)
