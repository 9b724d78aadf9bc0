"""What is searched when somebody searches? One document per ticket: what everybody of its team may read, and what infra may."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from portal.accounts.models import Team, User
from requests_app.tickets.models import Person, Ticket


class DocumentQuerySet(models.QuerySet["SearchDocument"]):
    """Documents by who may see their tickets."""

    def visible_to(self, user: Person) -> DocumentQuerySet:
        """Those of visible tickets."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        return self if user.is_infra else self.filter(team__in=user.teams())


class SearchDocument(models.Model):
    """The words of a ticket. `public` is for its team, `whole` holds the notes of the desk too and is for infra staff.

    `content_hash` is equal for equal answers to the
    same offering by the same team. The indexes keep a short list of what is new (256 kB), so that neither writing nor
    reading pays for the other.
    """

    ticket = models.OneToOneField(Ticket, primary_key=True, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    public = SearchVectorField()
    whole = SearchVectorField()
    content_hash = models.CharField(max_length=32)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        indexes = [
            GinIndex(fields=["public"], name="search_public", gin_pending_list_limit=256),
            GinIndex(fields=["whole"], name="search_whole", gin_pending_list_limit=256),
            models.Index(fields=["team", "-ticket"], name="search_team"),
            models.Index(fields=["content_hash"], name="search_content"),
        ]

    def __str__(self) -> str:
        return f"words of {self.ticket_id}"


class SearchWord(models.Model):
    """A word that stands in some title: what a word with a typing error may have meant. It says nothing of where it stands."""

    word = models.CharField(max_length=40, primary_key=True)

    class Meta:
        indexes = [GinIndex(fields=["word"], name="search_words", opclasses=["gin_trgm_ops"])]

    def __str__(self) -> str:
        return self.word
