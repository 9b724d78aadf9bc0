"""What can be done with files? Keep, remove, and clear away what a crash left: a row never points to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import Sum

from portal.accounts.leaks import end_leaked
from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotAllowed
from portal.ledger.services import record
from requests_app import events
from requests_app.attachments import limits, storage
from requests_app.attachments.models import Attachment
from requests_app.tickets.access import Doing, allows
from requests_app.tickets.models import Comment, Ticket
from requests_app.tickets.queries import standing_of

LEFT_BEHIND = timedelta(hours=1)


class Upload(Protocol):
    """A file that came in: Django's UploadedFile, or a part of a mail."""

    @property
    def name(self) -> str | None: ...

    @property
    def size(self) -> int | None: ...

    def chunks(self) -> Iterator[bytes]: ...


def limits_now() -> limits.Limits:
    """The limits of this portal."""
    return limits.Limits(
        file=settings.ATTACHMENT_MIB * limits.MIB,
        ticket=settings.ATTACHMENTS_TICKET_MIB * limits.MIB,
        team=settings.ATTACHMENTS_TEAM_MIB * limits.MIB,
    )


def keep_files(
    *, ticket: Ticket, files: Sequence[Upload], comment: Comment | None = None, by: User
) -> list[Attachment]:
    """Keep files with a ticket or with a comment of it; all of them or none. Invalid when they are too big or too many."""
    if not files:
        return []
    if not allows(Doing.COMMENT, standing_of(ticket, by)):
        raise NotAllowed("You may not add files here.")
    with transaction.atomic():
        _check(ticket, [file.size or 0 for file in files])
        stored: list[tuple[str, storage.Stored]] = []
        try:
            for file in files:
                written = storage.store(file.chunks(), most=limits_now().file)
                stored.append((limits.shown_name(file.name or ""), written))
            return _rows(ticket, comment, stored, by)
        except BaseException:
            for _, written in stored:
                storage.drop(written.name)
            raise


def _check(ticket: Ticket, sizes: Sequence[int]) -> None:
    """Under the team's lock, so that two uploads don't both see the last room."""
    Team.objects.select_for_update().get(pk=ticket.team_id)
    there = Attachment.objects.filter(removed_at=None)
    has = {
        "ticket_has": there.filter(ticket=ticket).aggregate(sum=Sum("size"))["sum"] or 0,
        "team_has": there.filter(ticket__team_id=ticket.team_id).aggregate(sum=Sum("size"))["sum"] or 0,
    }
    said = limits.complaint(sizes, limits=limits_now(), **has)
    if said is not None:
        raise Invalid({"files": [said]})


def _rows(
    ticket: Ticket, comment: Comment | None, stored: Iterable[tuple[str, storage.Stored]], by: User
) -> list[Attachment]:
    made: list[Attachment] = []
    for name, file in stored:
        made.append(
            Attachment.objects.create(
                ticket=ticket,
                comment=comment,
                uploader=by,
                name=name,
                stored_as=file.name,
                size=file.size,
                sha256=file.sha256,
            )
        )
        end_leaked(file.tokens, where=ticket.ref, by=by)
        payload = {"file": name, "size": file.size, "comment": comment.pk if comment else None}
        internal = comment is not None and comment.internal
        record(events.TICKET_FILE_ADDED, subject=ticket.ref, payload={**payload, "internal": internal}, by=by)
    return made


@transaction.atomic
def remove_file(*, file: Attachment, by: User) -> None:
    """Remove a file: who added it, and infra staff. The row stays and says so; the bytes go."""
    if by.pk != file.uploader_id and not by.is_infra:
        raise NotAllowed("Only who added a file, and infra people, remove it.")
    gone = Attachment.objects.filter(pk=file.pk, removed_at=None).update(removed_at=now(), removed_by=by)
    if not gone:
        return
    internal = file.comment is not None and file.comment.internal
    payload = {"file": file.name, "comment": file.comment_id, "internal": internal}
    record(events.TICKET_FILE_REMOVED, subject=file.ticket.ref, payload=payload, by=by)
    transaction.on_commit(lambda: storage.drop(file.stored_as))


def sweep() -> int:
    """Delete bytes that no row wants and that are older than an hour; how many files that were."""
    dropped = 0
    for path in storage.everything():
        try:
            age = now() - datetime.fromtimestamp(path.stat().st_mtime, UTC)
        except FileNotFoundError:
            continue
        if age < LEFT_BEHIND or Attachment.objects.filter(stored_as=path.name, removed_at=None).exists():
            continue
        path.unlink(missing_ok=True)
        dropped += 1
    return dropped
