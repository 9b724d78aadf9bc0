"""What does a person want to hear of, and how soon? Their choices over the defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.conf import settings
from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from portal.ledger.services import record
from portal.notify import events
from portal.notify.kinds import ALWAYS, SAYS, Channel, Topic, When, default
from portal.notify.models import DigestHour, Notification, Preference
from portal.notify.schedule import next_digest, zone_of
from portal.notify.states import MessageState

CHOICES: Mapping[Channel, tuple[When, ...]] = {
    Channel.INBOX: (When.NOW, When.OFF),
    Channel.MAIL: (When.NOW, When.DIGEST, When.OFF),
}
Chosen = dict[tuple[Topic, Channel], When]


def chosen_by(user: User) -> Chosen:
    """Every topic and way of this person, defaults filled in."""
    return chosen_by_all([user.pk])[user.pk]


def chosen_by_all(people: Collection[int]) -> dict[int, Chosen]:
    """The same for several people, in one query."""
    found = {
        pk: {(topic, channel): default(topic, channel) for topic in Topic for channel in CHOICES}
        for pk in people
    }
    for row in Preference.objects.filter(user__in=people):
        if row.topic in set(Topic) and row.channel in CHOICES:
            found[row.user_id][(Topic(row.topic), Channel(row.channel))] = When(row.when)
    return found


def digest_hour(user: User) -> int:
    """The hour of the person's day at which the summary comes."""
    own = DigestHour.objects.filter(user=user).values_list("hour", flat=True).first()
    return settings.DIGEST_HOUR if own is None else own


@transaction.atomic
def choose(*, choices: Mapping[tuple[str, str], str], hour: int | None = None, by: User) -> Chosen:
    """Keep choices of one's own: (topic, channel) -> when. Invalid for what there is not; what isn't named stays."""
    complaints = {
        f"{topic}.{channel}": [said]
        for (topic, channel), when in choices.items()
        if (said := _complaint(topic, channel, when)) is not None
    }
    if hour is not None and not 0 <= hour <= 23:
        complaints["digest_hour"] = ["An hour of the day, 0 to 23."]
    if complaints:
        raise Invalid(complaints)
    for (topic, channel), when in choices.items():
        Preference.objects.update_or_create(user=by, topic=topic, channel=channel, defaults={"when": when})
    if hour is not None:
        DigestHour.objects.update_or_create(user=by, defaults={"hour": hour})
        _move_digest(by, hour)
    said_ = {f"{topic}.{channel}": when for (topic, channel), when in choices.items()}
    record(events.PREFERENCES_CHANGED, subject=f"person:{by.pk}", payload={"chosen": said_}, by=by)
    return chosen_by(by)


def _complaint(topic: str, channel: str, when: str) -> str | None:
    if topic not in set(Topic):
        return f"There is no such topic. Known: {', '.join(Topic)}."
    if channel not in set(CHOICES):
        return f"There is no such way. Known: {', '.join(CHOICES)}."
    allowed = CHOICES[Channel(channel)]
    if when not in allowed:
        return f"Use one of: {', '.join(allowed)}."
    if Topic(topic) in ALWAYS and when == When.OFF:
        return f"This can't be switched off: {SAYS[Topic(topic)].lower()}."
    return None


def _move_digest(user: User, hour: int) -> None:
    """What waits for the summary comes at the new hour."""
    due = next_digest(now(), zone_of(user.time_zone, settings.TIME_ZONE), hour)
    waiting = Notification.objects.filter(recipient=user, digest=True)
    waiting.filter(status=MessageState.PENDING).update(due_at=due)
