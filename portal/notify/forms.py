"""How does a person choose what to hear of? A table of topics and ways, and the hour of the summary."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from portal.notify.kinds import ALWAYS, SAYS, Channel, Topic, When
from portal.notify.preferences import CHOICES, Chosen

WORDS = {When.NOW: "at once", When.DIGEST: "in the daily summary", When.OFF: "never"}
INBOX_WORDS = {When.NOW: "yes", When.OFF: "no"}


@dataclass(frozen=True)
class Choice:
    """One select: its name in the form, what is chosen, and (value, words) of what can be."""

    name: str
    chosen: str
    options: tuple[tuple[str, str], ...]
    label: str


@dataclass(frozen=True)
class Row:
    """One topic."""

    says: str
    choices: tuple[Choice, ...]


def rows_of(chosen: Chosen) -> list[Row]:
    """The table."""
    return [
        Row(SAYS[topic], tuple(_choice(topic, channel, chosen) for channel in CHOICES)) for topic in Topic
    ]


def _choice(topic: Topic, channel: Channel, chosen: Chosen) -> Choice:
    words = INBOX_WORDS if channel is Channel.INBOX else WORDS
    allowed = [when for when in CHOICES[channel] if not (topic in ALWAYS and when is When.OFF)]
    return Choice(
        name=f"{topic}.{channel}",
        chosen=chosen[(topic, channel)],
        options=tuple((when.value, words[when]) for when in allowed),
        label=f"{SAYS[topic]}: {'inbox' if channel is Channel.INBOX else 'mail'}",
    )


def chosen_in(posted: QueryDict) -> dict[tuple[str, str], str]:
    """What a form says, by topic and way."""
    found: dict[tuple[str, str], str] = {}
    for name in posted:
        topic, dot, channel = name.partition(".")
        if dot:
            found[(topic, channel)] = str(posted.get(name, ""))
    return found
