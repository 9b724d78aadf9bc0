"""Which files belong to a ticket or a comment, and who may have them?"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models

from portal.accounts.models import User
from portal.kernel.clock import now
from requests_app.tickets.models import Comment, Person, Ticket, of_visible_tickets


def random_name() -> str:
    """32 hexadecimal digits that nobody can guess."""
    return secrets.token_hex(16)


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    """Files by who may have them."""

    def visible_to(self, user: Person) -> AttachmentQuerySet:
        """Those that are not removed, of visible tickets; those of an internal note only for infra staff."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        seen = self.filter(of_visible_tickets(user), removed_at=None)
        if user.is_infra:
            return seen
        return seen.filter(models.Q(comment=None) | models.Q(comment__internal=False))


class Attachment(models.Model):
    """A private file. `name` is what its owner called it, for people to read; on disk it has `stored_as`, a random name.

    `size` is bytes. A removed one keeps its row, without its bytes.
    """

    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="attachments")
    comment = models.ForeignKey(
        Comment, null=True, blank=True, on_delete=models.PROTECT, related_name="attachments"
    )
    uploader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    public_id = models.CharField(max_length=32, unique=True, default=random_name)
    stored_as = models.CharField(max_length=32, unique=True)
    name = models.CharField(max_length=150)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    at = models.DateTimeField(default=now)
    removed_at = models.DateTimeField(null=True, blank=True)
    removed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    objects = AttachmentQuerySet.as_manager()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name
