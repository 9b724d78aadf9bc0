"""What do offers and promises look like to API clients, and what do clients send?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from requests_app.negotiation.models import Offer, OfferLine, Promise
from requests_app.negotiation.proposals import CLASSES, KINDS, Proposal
from requests_app.negotiation.replies import Counter
from requests_app.tickets.reasons import REASONS

Plain = serializers.Serializer[Any]
MOST = 1_000_000


class OfferLineOutput(serializers.ModelSerializer[OfferLine]):
    """What is offered for one line. `cost_per_month` is null when no price is known; `relief_days` from the offer on."""

    position = serializers.IntegerField(source="line.position")
    title = serializers.CharField(source="line.label")
    unit = serializers.CharField(source="line.unit")
    asked_qty = serializers.IntegerField(source="line.asked_qty")

    class Meta:
        model = OfferLine
        fields = (
            *("position", "title", "unit", "asked_qty", "kind", "now_qty", "later_qty", "later_on"),
            *("instead_sku", "instead_label", "reason_code", "reason", "nearest_yes"),
            *("cost_per_month", "currency", "relief_days", "reliability"),
            *("reply", "counter_qty", "counter_on", "counter_words"),
        )
        read_only_fields = fields


class OfferOutput(serializers.ModelSerializer[Offer]):
    """One revision. The `question` is what the team asked about it; `asked_at` is null once it is answered."""

    ticket = serializers.CharField(source="ticket.ref")
    state = serializers.CharField(source="status")
    made_by = serializers.CharField(source="made_by.username")
    closed_by = serializers.CharField(source="closed_by.username", default=None, allow_null=True)
    lines = OfferLineOutput(many=True)

    class Meta:
        model = Offer
        fields = (
            *("ticket", "revision", "state", "note", "made_at", "made_by", "expires_at"),
            *("question", "asked_at", "words", "closed_at", "closed_by", "lines"),
        )
        read_only_fields = fields


class LineProposalInput(Plain):
    """What is offered for one undecided line; quantities left out mean all of it."""

    position = serializers.IntegerField(min_value=1)
    kind = serializers.ChoiceField(choices=list(KINDS.items()))
    now_qty = serializers.IntegerField(min_value=0, max_value=MOST, required=False, allow_null=True)
    later_qty = serializers.IntegerField(min_value=0, max_value=MOST, required=False, allow_null=True)
    later_on = serializers.DateField(required=False, allow_null=True)
    instead_sku = serializers.CharField(max_length=60, required=False, allow_blank=True)
    instead_label = serializers.CharField(max_length=200, required=False, allow_blank=True)
    reason_code = serializers.ChoiceField(choices=list(REASONS.items()), required=False, allow_blank=True)
    reason = serializers.CharField(max_length=5000, required=False, allow_blank=True)
    nearest_yes = serializers.CharField(max_length=5000, required=False, allow_blank=True)
    relief_days = serializers.IntegerField(min_value=0, max_value=3660, required=False, allow_null=True)
    reliability = serializers.ChoiceField(choices=list(CLASSES.items()), required=False)


class OfferVersionInput(Plain):
    """The version that was looked at, unless If-Match says it."""

    version = serializers.IntegerField(min_value=1, required=False)


class OfferInput(OfferVersionInput):
    """An offer: something for every undecided line. Without `expires_at` it is open for seven days."""

    lines = LineProposalInput(many=True)
    expires_at = serializers.DateTimeField(required=False)
    note = serializers.CharField(max_length=5000, required=False, allow_blank=True)


class OfferAcceptInput(Plain):
    """Which lines are accepted; left out, all of them."""

    positions = serializers.ListField(
        child=serializers.IntegerField(min_value=1), required=False, max_length=60
    )


class LineCounterInput(Plain):
    """What is wanted of one line instead: another quantity, another day, or words."""

    position = serializers.IntegerField(min_value=1)
    quantity = serializers.IntegerField(min_value=1, max_value=MOST, required=False, allow_null=True)
    wanted_on = serializers.DateField(required=False, allow_null=True)
    words = serializers.CharField(max_length=5000, required=False, allow_blank=True)


class OfferReplyInput(Plain):
    """One answer to the whole offer: what is accepted, what is wanted instead, and what is no longer wanted."""

    accept = serializers.ListField(child=serializers.IntegerField(min_value=1), required=False, max_length=60)
    counter = LineCounterInput(many=True, required=False)
    drop = serializers.ListField(child=serializers.IntegerField(min_value=1), required=False, max_length=60)
    words = serializers.CharField(max_length=5000, required=False, allow_blank=True)


class OfferQuestionInput(Plain):
    """A question about an offer."""

    question = serializers.CharField(max_length=5000)


class OfferAnswerInput(OfferVersionInput):
    """The answer to what the team asked."""

    answer = serializers.CharField(max_length=5000)


class OfferWithdrawInput(OfferVersionInput):
    """Why the offer is taken back."""

    reason = serializers.CharField(max_length=5000)


class PromiseOutput(serializers.ModelSerializer[Promise]):
    """`quantity` of a line for a day. `first_due_on` is the day that was promised first, the one that is measured."""

    ticket = serializers.CharField(source="line.ticket.ref")
    team = serializers.CharField(source="line.ticket.team.slug")
    position = serializers.IntegerField(source="line.position")
    title = serializers.CharField(source="line.label")
    unit = serializers.CharField(source="line.unit")
    state = serializers.CharField(source="status")
    replaces = serializers.IntegerField(source="replaces_id", allow_null=True)
    order = serializers.CharField(source="order_ref")

    class Meta:
        model = Promise
        fields = (
            *("id", "version", "ticket", "team", "position", "title", "unit", "state", "quantity"),
            *("due_on", "first_due_on", "replaces", "reason", "made_at", "kept_at", "order"),
        )
        read_only_fields = fields


class PromiseMoveInput(Plain):
    """Another day, with the reason that the team reads."""

    version = serializers.IntegerField(min_value=1)
    due_on = serializers.DateField()
    reason = serializers.CharField(max_length=5000)


class PromiseKeepInput(Plain):
    """A note for what is handed over by people."""

    version = serializers.IntegerField(min_value=1)
    note = serializers.CharField(max_length=5000, required=False, allow_blank=True)


class PromiseCancelInput(Plain):
    """Why it is taken back."""

    version = serializers.IntegerField(min_value=1)
    reason = serializers.CharField(max_length=5000)


def proposal_of(given: Mapping[str, Any]) -> Proposal:
    """A proposal from what a client sent; what it left out is as usual."""
    return Proposal(**{name: value for name, value in given.items() if value is not None})


def counters_of(given: list[dict[str, Any]]) -> dict[int, Counter]:
    """Counters by position."""
    return {
        each["position"]: Counter(
            quantity=each.get("quantity"), wanted_on=each.get("wanted_on"), words=each.get("words", "")
        )
        for each in given
    }
