"""How do offerings get from files into the catalogue? All or nothing, each changed content as one more version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.ledger.services import record
from requests_app import events
from requests_app.catalogue.models import Offering, OfferingVersion
from requests_app.catalogue.offering_files import OfferingFile


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What loading changed, as slugs."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    retired: tuple[str, ...]


@transaction.atomic
def load_offerings(*, files: Sequence[OfferingFile], by: User | None) -> Loaded:
    """Make the catalogue say what `files` say; an offering without a file is retired, its tickets stay as they are."""
    found: dict[str, list[str]] = {"added": [], "changed": [], "unchanged": []}
    for file in files:
        found[_load_one(file, by)].append(file.slug)
    gone = Offering.objects.select_for_update().filter(retired_at=None)
    retired = list(gone.exclude(slug__in=[file.slug for file in files]))
    for offering in retired:
        offering.retired_at = now()
        offering.save(update_fields=["retired_at"])
        record(events.OFFERING_RETIRED, subject=f"offering {offering.slug}", by=by)
    return Loaded(
        added=tuple(found["added"]),
        changed=tuple(found["changed"]),
        unchanged=tuple(found["unchanged"]),
        retired=tuple(offering.slug for offering in retired),
    )


def _load_one(file: OfferingFile, by: User | None) -> str:
    Offering.objects.get_or_create(slug=file.slug)
    offering = Offering.objects.select_for_update().get(slug=file.slug)
    latest = offering.versions.order_by("-number").first()
    same = latest is not None and latest.content_hash == file.content_hash
    if same and offering.retired_at is None:
        return "unchanged"
    if latest is None or not same:
        latest = _add_version(offering, file, 1 if latest is None else latest.number + 1)
    offering.current = latest
    offering.retired_at = None
    offering.save(update_fields=["current", "retired_at"])
    payload = {"version": latest.number, "hash": latest.content_hash}
    record(events.OFFERING_LOADED, subject=f"offering {offering.slug}", payload=payload, by=by)
    return "added" if latest.number == 1 else "changed"


def _add_version(offering: Offering, file: OfferingFile, number: int) -> OfferingVersion:
    content = dict(file.content)
    return OfferingVersion.objects.create(
        offering=offering,
        number=number,
        content_hash=file.content_hash,
        content=content,
        pillar=content["pillar"],
        kind=content["kind"],
        fulfilment=content["fulfilment"],
        title=content["title"],
        promise=content["promise"],
        description=content["description"],
        lead_time=content["lead_time"],
        effort_hours=content["effort_hours"],
        focus_distance=content.get("focus_distance", 0),
    )
