"""Which workarounds hold until when, what do they cost, and how many may there be?"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from portal.kernel.clock import now
from portal.kernel.errors import NotFound
from portal.kernel.moves import Stateful, status_check
from portal.kernel.refs import format_ref, parse_ref
from requests_app.catalogue.offering_shape import PILLARS
from requests_app.tickets.models import Ticket, of_visible_tickets
from requests_app.workarounds.kinds import SAYS, TAKES_BACK, Kind, Risk
from requests_app.workarounds.ladder import NONE_SAID
from requests_app.workarounds.projects import PILLAR_CHOICES, Reader, Replacement, person_key
from requests_app.workarounds.states import HOLDING, IN_TROUBLE, OPEN, WORKAROUND, ReplacementState

DEFAULT_CAP = 10


class WorkaroundQuerySet(models.QuerySet["Workaround"]):
    """Workarounds by who may see them and by where they stand."""

    def visible_to(self, user: Reader) -> WorkaroundQuerySet:
        """Those of tickets that the person may see."""
        return self.filter(of_visible_tickets(user))

    def by_ref(self, ref: str) -> Workaround:
        """The workaround `W-7` of this set; NotFound when it isn't in it."""
        found = self.filter(pk=parse_ref(ref, "W")).first()
        if found is None:
            raise NotFound(f"There is no workaround {ref}.")
        return found

    def still_open(self) -> WorkaroundQuerySet:
        """There, or about to be."""
        return self.filter(status__in=OPEN)

    def holding(self) -> WorkaroundQuerySet:
        """The team works by it."""
        return self.filter(status__in=HOLDING)

    def for_pages(self) -> WorkaroundQuerySet:
        """With the rows that every page shows beside a workaround."""
        return self.select_related(
            "ticket__team", "ticket__offering_version", "owner", "approved_by", "replacement__owner"
        )


class Workaround(Stateful):
    """A quick relief that is taken back. `residual` is the share of the block's loss that remains while it holds.

    `interest_hours` is what it costs infra a week, as estimated; the weekly entries say what it did cost. `warned_days` is
    the nearest step of the ladder that was said of this term, `weeks_counted` the overdue weeks that the rank knows of.
    `retry_at` is set while taking it back waits for something that passes. `trouble` says why it is failed or stuck.
    """

    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="workarounds")
    kind = models.CharField(max_length=10, choices=[(kind.value, SAYS[kind]) for kind in Kind])
    pillar = models.CharField(max_length=30, choices=PILLAR_CHOICES)
    class_key = models.CharField(max_length=200)
    tag = models.CharField(max_length=60, default="", blank=True)
    summary = models.CharField(max_length=200)
    params = models.JSONField(default=dict)
    owner = person_key()
    approved_by = person_key()

    starts_at = models.DateTimeField()
    review_on = models.DateField()
    expires_at = models.DateTimeField()
    closure_test = models.TextField()
    interest_hours = models.DecimalField(max_digits=6, decimal_places=2, default=0)
    risk = models.CharField(max_length=6, choices=[(risk.value, risk.value) for risk in Risk])
    risk_words = models.TextField(default="", blank=True)
    residual = models.FloatField(default=0.3)

    replacement = models.ForeignKey(
        Replacement, null=True, blank=True, on_delete=models.PROTECT, related_name="workarounds"
    )
    proper_because = models.TextField(default="", blank=True)

    order_ref = models.CharField(max_length=24, default="", blank=True)
    cluster_ref = models.CharField(max_length=24, default="", blank=True)
    renewals = models.PositiveSmallIntegerField(default=0)
    renewal_reason = models.TextField(default="", blank=True)
    renewal_days = models.PositiveSmallIntegerField(null=True, blank=True)
    renewal_asked_by = person_key(null=True)
    warned_days = models.PositiveSmallIntegerField(default=NONE_SAID)
    weeks_counted = models.PositiveSmallIntegerField(default=0)
    trouble = models.TextField(default="", blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)

    created_at = models.DateTimeField(default=now)
    active_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_why = models.CharField(max_length=12, default="", blank=True)

    objects = WorkaroundQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            status_check(WORKAROUND, "workaround_state_known"),
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in Kind]), name="workaround_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(risk__in=[risk.value for risk in Risk]), name="workaround_risk_known"
            ),
            models.CheckConstraint(condition=Q(pillar__in=PILLARS), name="workaround_pillar_known"),
            models.CheckConstraint(
                condition=Q(residual__gte=0, residual__lte=1), name="workaround_residual_is_a_share"
            ),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("starts_at")), name="workaround_ends_after_start"
            ),
            models.CheckConstraint(condition=Q(interest_hours__gte=0), name="workaround_interest_positive"),
            models.CheckConstraint(
                condition=Q(status="ended", ended_at__isnull=False) | (~Q(status="ended") & Q(ended_at=None)),
                name="workaround_ended_has_when",
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], name="workaround_due", condition=Q(status__in=OPEN)),
            models.Index(fields=["pillar"], name="workaround_open", condition=Q(status__in=OPEN)),
            models.Index(fields=["class_key", "id"], name="workaround_class"),
            models.Index(fields=["ticket", "id"], name="workaround_ticket"),
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.summary}"

    @property
    def ref(self) -> str:
        """`W-7`."""
        return format_ref("W", self.pk)

    @property
    def kind_says(self) -> str:
        """The kind in words."""
        return SAYS[Kind(self.kind)]

    @property
    def amount(self) -> str:
        """How much of what: `16 GPUs of h100-sxm5-80g`; empty for a step by hand."""
        told = self.params
        if self.kind == Kind.PLAYBOOK:
            return ", ".join(f"{name}={value}" for name, value in sorted(told["settings"].items()))
        units = {Kind.QUOTA: "GPUs", Kind.NODES: "nodes"}
        unit = units.get(Kind(self.kind), "")
        return f"{told[unit.lower()]} {unit} of {told['sku']}" if unit else ""

    @property
    def takes_back(self) -> str:
        """What happens at its end."""
        return TAKES_BACK[Kind(self.kind)]

    @property
    def is_open(self) -> bool:
        """There, or about to be."""
        return self.status in OPEN

    @property
    def is_holding(self) -> bool:
        """The team works by it."""
        return self.status in HOLDING

    @property
    def in_trouble(self) -> bool:
        """A person has to look."""
        return self.status in IN_TROUBLE

    @property
    def is_overdue(self) -> bool:
        """Its time is over and it is still there."""
        return self.is_open and self.expires_at <= now()

    @property
    def is_settled(self) -> bool:
        """Its end is somebody's plan: it is over, a project replaces it, or it was said to be the proper solution."""
        if not (self.is_open or self.in_trouble) or self.proper_because:
            return True
        project = self.replacement
        return project is not None and (project.is_live or project.status == ReplacementState.DONE)


class Renewal(models.Model):
    """One more term, approved by name. The key makes it happen once."""

    workaround = models.ForeignKey(Workaround, on_delete=models.PROTECT, related_name="renewal_rows")
    key = models.CharField(max_length=80)
    days = models.PositiveSmallIntegerField()
    was_until = models.DateTimeField()
    until = models.DateTimeField()
    reason = models.TextField(default="", blank=True)
    approved_by = person_key()
    at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["workaround", "key"], name="renewal_once")]

    def __str__(self) -> str:
        return f"{self.workaround_id} until {self.until:%Y-%m-%d}"


class InterestEntry(models.Model):
    """What a workaround did cost infra in one week, in hours; `week` is its Monday."""

    workaround = models.ForeignKey(Workaround, on_delete=models.PROTECT, related_name="interest_entries")
    week = models.DateField()
    hours = models.DecimalField(max_digits=6, decimal_places=2)
    note = models.CharField(max_length=200, default="", blank=True)
    by = person_key()
    at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-week"]
        constraints = [
            models.UniqueConstraint(fields=["workaround", "week"], name="interest_once_a_week"),
            models.CheckConstraint(condition=Q(hours__gte=0), name="interest_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.hours} h in the week of {self.week}"


class PillarCap(models.Model):
    """How many workarounds of a pillar may be open at once. Its row is the lock under which they are counted."""

    pillar = models.CharField(max_length=30, choices=PILLAR_CHOICES, unique=True)
    most = models.PositiveSmallIntegerField(default=DEFAULT_CAP)

    class Meta:
        ordering = ["pillar"]
        constraints = [models.CheckConstraint(condition=Q(pillar__in=PILLARS), name="cap_pillar_known")]

    def __str__(self) -> str:
        return f"{self.pillar}: {self.most}"
