"""What belongs to a conversation besides its comments? Older wordings, half-written texts, and who follows it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from portal.kernel.clock import now
from requests_app.tickets.models import Comment, Person, Ticket, of_visible_tickets


class CommentRevision(models.Model):
    """What a comment said before it was edited; whoever may read the comment may read it."""

    comment = models.ForeignKey(Comment, on_delete=models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    body = models.TextField()
    until = models.DateTimeField(default=now)

    class Meta:
        ordering = ["comment_id", "number"]
        constraints = [models.UniqueConstraint(fields=["comment", "number"], name="comment_revision_once")]

    def __str__(self) -> str:
        return f"comment {self.comment_id}, wording {self.number}"


class CommentDraftQuerySet(models.QuerySet["CommentDraft"]):
    """Half-written texts belong to who writes them, and to nobody else."""

    def visible_to(self, user: Person) -> CommentDraftQuerySet:
        """One's own, of tickets that one may still see."""
        if not user.is_authenticated:
            return self.none()
        return self.filter(of_visible_tickets(user), user_id=user.pk)


class CommentDraft(models.Model):
    """A comment or an internal note that is not sent yet, as it was typed. Its token sends at most one comment."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="+")
    internal = models.BooleanField(default=False)
    text = models.TextField()
    token = models.CharField(max_length=80)
    saved_at = models.DateTimeField(default=now)

    objects = CommentDraftQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "ticket", "internal"], name="comment_draft_once")
        ]

    def __str__(self) -> str:
        return f"half-written by {self.user_id} on {self.ticket_id}"


class Why(models.TextChoices):
    """Why somebody follows a ticket."""

    REQUESTER = "requester"
    ASSIGNEE = "assignee"
    COMMENTED = "commented"
    MENTIONED = "mentioned"
    CHOSE = "chose"
    MERGED = "merged"


class Watch(models.Model):
    """A person and a ticket: following, or muted by their own choice, which nothing automatic undoes."""

    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="watches")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    muted = models.BooleanField(default=False)
    why = models.CharField(max_length=10, choices=Why, default=Why.CHOSE)
    at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["ticket", "user"], name="watch_once"),
            models.CheckConstraint(condition=models.Q(why__in=Why.values), name="watch_why_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {'mutes' if self.muted else 'follows'} {self.ticket_id}"
