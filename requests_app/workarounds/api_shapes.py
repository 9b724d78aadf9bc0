"""What does the API tell and take of workarounds, of the projects that replace them, and of the debt? Shapes in and out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from requests_app.catalogue.offering_shape import PILLARS
from requests_app.workarounds.kinds import Kind, Risk
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.projects import Milestone, Replacement
from requests_app.workarounds.said import LONGEST_DAYS
from requests_app.workarounds.states import ReplacementAction, ReplacementState, WorkaroundState

Plain = serializers.Serializer[Any]


class WorkaroundOutput(serializers.ModelSerializer[Workaround]):
    """A workaround. `interest_hours` is infra's estimate a week; `residual` the share of the loss that remains, in [0, 1]."""

    ticket = serializers.CharField(source="ticket.ref")
    team = serializers.CharField(source="ticket.team.slug")
    state = serializers.ChoiceField(choices=[state.value for state in WorkaroundState], source="status")
    kind = serializers.ChoiceField(choices=[kind.value for kind in Kind])
    owner = serializers.CharField(source="owner.username")
    approved_by = serializers.CharField(source="approved_by.username")
    replacement = serializers.CharField(source="replacement.ref", default=None, allow_null=True)
    order = serializers.CharField(source="order_ref", allow_blank=True)
    cluster = serializers.CharField(source="cluster_ref", allow_blank=True)
    interest_hours = serializers.FloatField()
    is_overdue = serializers.BooleanField()
    is_settled = serializers.BooleanField()

    class Meta:
        model = Workaround
        fields = (
            *("ref", "ticket", "team", "state", "version", "kind", "pillar", "summary", "params", "tag"),
            *(
                "owner",
                "approved_by",
                "starts_at",
                "review_on",
                "expires_at",
                "closure_test",
                "interest_hours",
            ),
            *(
                "risk",
                "risk_words",
                "residual",
                "replacement",
                "proper_because",
                "renewals",
                "order",
                "cluster",
            ),
            *("trouble", "active_at", "ended_at", "ended_why", "is_overdue", "is_settled"),
        )
        read_only_fields = fields


class PlanInput(Plain):
    """The project that replaces it; what is left out takes what is usual."""

    title = serializers.CharField(required=False, allow_blank=True, max_length=200, default="")
    target_on = serializers.DateField(required=False, allow_null=True, default=None)


class GrantInput(Plain):
    """A workaround for a ticket. `params` are its kind's: `sku` and `gpus`; `sku`, `nodes` and `cluster`; `cluster`,
    `remedy` and `settings`; or `steps`."""

    version = serializers.IntegerField(min_value=1, help_text="The ticket's version.")
    kind = serializers.ChoiceField(choices=[kind.value for kind in Kind])
    params = serializers.DictField()
    summary = serializers.CharField(max_length=200)
    closure_test = serializers.CharField(max_length=5000)
    days = serializers.IntegerField(min_value=1, max_value=LONGEST_DAYS)
    owner = serializers.CharField(required=False, allow_blank=True, max_length=150, default="")
    starts_at = serializers.DateTimeField(required=False, allow_null=True, default=None)
    review_on = serializers.DateField(required=False, allow_null=True, default=None)
    interest_hours = serializers.DecimalField(
        max_digits=6, decimal_places=2, required=False, default=Decimal(0)
    )
    risk = serializers.ChoiceField(
        choices=[risk.value for risk in Risk], required=False, default=Risk.LOW.value
    )
    risk_words = serializers.CharField(required=False, allow_blank=True, max_length=5000, default="")
    residual = serializers.FloatField(min_value=0, max_value=1, required=False, default=0.3)
    tag = serializers.CharField(required=False, allow_blank=True, max_length=60, default="")
    with_project = serializers.BooleanField(required=False, default=False)
    plan = PlanInput(required=False)


class RenewInput(Plain):
    """One more term. Its owner may approve it only with a reason."""

    version = serializers.IntegerField(min_value=1)
    days = serializers.IntegerField(min_value=1, max_value=LONGEST_DAYS)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=5000, default="")


class AskRenewalInput(Plain):
    """More time, and why."""

    version = serializers.IntegerField(min_value=1)
    days = serializers.IntegerField(min_value=1, max_value=LONGEST_DAYS)
    reason = serializers.CharField(max_length=5000)


class WorkaroundWords(Plain):
    """Why, or how; needed where the words of the address ask for it."""

    version = serializers.IntegerField(min_value=1)
    text = serializers.CharField(required=False, allow_blank=True, max_length=5000, default="")


class InterestInput(Plain):
    """What it did cost in the week of a day, in hours."""

    day = serializers.DateField()
    hours = serializers.DecimalField(max_digits=6, decimal_places=2, min_value=0, max_value=168)
    note = serializers.CharField(required=False, allow_blank=True, max_length=200, default="")


class MilestoneOutput(serializers.ModelSerializer[Milestone]):
    """A step of a project."""

    class Meta:
        model = Milestone
        fields = ("position", "name", "due_on", "done_at")
        read_only_fields = fields


class ReplacementOutput(serializers.ModelSerializer[Replacement]):
    """A project. `first_target_on` is what it is measured by; `tickets` are those the caller may see."""

    state = serializers.ChoiceField(choices=[state.value for state in ReplacementState], source="status")
    owner = serializers.CharField(source="owner.username")
    is_late = serializers.BooleanField()

    class Meta:
        model = Replacement
        fields = (
            *("ref", "state", "version", "title", "pillar", "owner", "target_on", "first_target_on"),
            *("is_late", "reason", "created_at", "done_at"),
        )
        read_only_fields = fields


class ReplacementDetail(ReplacementOutput):
    """With its milestones and the workarounds that wait for it."""

    milestones = MilestoneOutput(many=True)
    workarounds = serializers.ListField(child=serializers.CharField(), source="seen")

    class Meta(ReplacementOutput.Meta):
        fields = (*ReplacementOutput.Meta.fields, "milestones", "workarounds")  # type: ignore[assignment]
        read_only_fields = fields  # type: ignore[assignment]


class ProjectMoveInput(Plain):
    """What happens to a project; dropping it and taking it up again say why."""

    version = serializers.IntegerField(min_value=1)
    action = serializers.ChoiceField(choices=[action.value for action in ReplacementAction])
    reason = serializers.CharField(required=False, allow_blank=True, max_length=5000, default="")


class ProjectTargetInput(Plain):
    """Another target, with its reason."""

    version = serializers.IntegerField(min_value=1)
    target_on = serializers.DateField()
    reason = serializers.CharField(max_length=5000)


class MilestoneInput(Plain):
    """The milestone that is done."""

    position = serializers.IntegerField(min_value=1)


class ProjectInput(Plain):
    """One project for a class of workarounds."""

    class_key = serializers.CharField(max_length=200)
    title = serializers.CharField(required=False, allow_blank=True, max_length=200, default="")


class CapInput(Plain):
    """How many workarounds of a pillar may be open."""

    pillar = serializers.ChoiceField(choices=PILLARS)
    most = serializers.IntegerField(min_value=0, max_value=1000)


class CapOutput(Plain):
    """A pillar and how many workarounds of it may be open."""

    pillar = serializers.CharField()
    most = serializers.IntegerField()


class PillarDebtOutput(CapOutput):
    """Open workarounds beside the cap."""

    open = serializers.IntegerField()


class RepeatOutput(Plain):
    """The same need again, and how many of those that are open no project replaces."""

    class_key = serializers.CharField()
    summary = serializers.CharField()
    times = serializers.IntegerField()
    open = serializers.IntegerField()
    teams = serializers.IntegerField()
    without_project = serializers.IntegerField(source="without")
    project = serializers.CharField(source="project.ref", default=None, allow_null=True)


class LifeStepOutput(Plain):
    """From `days` on, `share` of the workarounds are still there."""

    days = serializers.FloatField()
    share = serializers.FloatField()
    at_risk = serializers.IntegerField()
    replaced = serializers.IntegerField()


class DebtOutput(Plain):
    """The debt the caller may see. `interest_hours` a week; `half_life_days` NULL while more than half are still there."""

    open = serializers.IntegerField()
    overdue = serializers.IntegerField()
    trouble = serializers.IntegerField()
    late_projects = serializers.IntegerField()
    interest_hours = serializers.FloatField(source="interest")
    half_life_days = serializers.FloatField(source="half_life", allow_null=True)
    counted = serializers.IntegerField()
    replaced = serializers.IntegerField()
    survival = LifeStepOutput(many=True, source="steps")
    pillars = PillarDebtOutput(many=True)
    repeats = RepeatOutput(many=True)
