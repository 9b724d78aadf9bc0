"""What do tickets look like to API clients, and what do clients send? Quantities are integers with their unit beside them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from requests_app.tickets.models import Line, Ticket

Plain = serializers.Serializer[Any]


class TicketOutput(serializers.ModelSerializer[Ticket]):
    """A ticket in a list."""

    ref = serializers.CharField()
    state = serializers.CharField(source="status")
    team = serializers.CharField(source="team.slug")
    offering = serializers.CharField(source="offering_version.offering.slug")
    offering_version = serializers.IntegerField(source="offering_version.number")
    requester = serializers.CharField(source="requester.username")
    assignee = serializers.CharField(source="assignee.username", default=None, allow_null=True)
    is_blocking = serializers.BooleanField()

    class Meta:
        model = Ticket
        fields = (
            "ref",
            "title",
            "state",
            "version",
            "team",
            "offering",
            "offering_version",
            "requester",
            "assignee",
            "submitted_at",
            "state_since",
            "is_blocking",
        )
        read_only_fields = fields


class TicketLine(serializers.ModelSerializer[Line]):
    """One asked thing. `granted_qty` is null until decided."""

    order = serializers.CharField(source="order_ref")

    class Meta:
        model = Line
        fields = (
            "position",
            "what",
            "label",
            "sku",
            "unit",
            "fulfilment",
            "asked_qty",
            "offered_qty",
            "granted_qty",
            "delivered_qty",
            "promised_qty",
            "granted_sku",
            "granted_label",
            "verdict",
            "decided_at",
            "round",
            "reason_code",
            "reason",
            "wanted_by",
            "promised_on",
            "order",
        )
        read_only_fields = fields


class TicketStep(Plain):
    """One step of an order: `done` of `total` nodes."""

    title = serializers.CharField()
    state = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    job = serializers.CharField(source="job_ref")


class TicketSwap(Plain):
    """A node that was replaced, and why."""

    old = serializers.CharField()
    new = serializers.CharField()
    reason = serializers.CharField()
    at = serializers.DateTimeField()


class TicketOrder(Plain):
    """Where the order of a ticket stands; `progress` is in [0, 1]."""

    ref = serializers.CharField()
    kind = serializers.CharField()
    status = serializers.CharField()
    is_final = serializers.BooleanField()
    progress = serializers.FloatField()
    now = serializers.CharField()
    reason = serializers.CharField()
    cluster = serializers.CharField(source="cluster_ref")
    steps = TicketStep(many=True)
    swaps = TicketSwap(many=True)


class TicketStory(Plain):
    """Where it is, what is next, and who has it, in plain words."""

    where = serializers.CharField()
    next = serializers.CharField()
    with_whom = serializers.CharField(source="who")
    since = serializers.DateTimeField()
    detail = serializers.CharField()


class TicketEntry(Plain):
    """One thing that happened, or that somebody said."""

    at = serializers.DateTimeField()
    by = serializers.CharField(source="actor.username", default=None, allow_null=True)
    kind = serializers.CharField()
    title = serializers.CharField()
    body = serializers.SerializerMethodField()
    internal = serializers.BooleanField()

    def get_body(self, entry: Any) -> str:
        """What people wrote about it."""
        return str(entry.comment or entry.body)


class TicketBlock(Plain):
    """How long the team was or is blocked."""

    since = serializers.DateTimeField(source="started_at")
    ended_at = serializers.DateTimeField(allow_null=True)
    people = serializers.IntegerField()
    idle_gpus = serializers.IntegerField()
    what = serializers.CharField()


class TicketDetail(Plain):
    """Everything about one ticket that its reader may see."""

    answers = serializers.DictField(source="ticket.answers")
    lines = TicketLine(many=True)
    orders = TicketOrder(many=True)
    story = TicketStory()
    block = TicketBlock(allow_null=True)
    may = serializers.ListField(child=serializers.CharField())
    reason_code = serializers.CharField(source="ticket.reason_code")
    reason = serializers.CharField(source="ticket.reason")
    nearest_yes = serializers.CharField(source="ticket.nearest_yes")
    question = serializers.CharField(source="ticket.question")
    note = serializers.CharField(source="ticket.note")
    timeline = TicketEntry(many=True, source="entries")


class WholeTicket(TicketOutput):
    """A ticket in a list, and everything else about it: the shape that the schema shows."""

    answers = serializers.DictField()
    lines = TicketLine(many=True)
    orders = TicketOrder(many=True)
    story = TicketStory()
    block = TicketBlock(allow_null=True)
    may = serializers.ListField(child=serializers.CharField())
    reason_code = serializers.CharField()
    reason = serializers.CharField()
    nearest_yes = serializers.CharField()
    question = serializers.CharField()
    note = serializers.CharField()
    timeline = TicketEntry(many=True)

    class Meta(TicketOutput.Meta):
        fields = (  # type: ignore[assignment]
            *TicketOutput.Meta.fields,
            *("answers", "lines", "orders", "story", "block", "may"),
            *("reason_code", "reason", "nearest_yes", "question", "note", "timeline"),
        )
        read_only_fields = fields  # type: ignore[assignment]


class BlockFactsInput(Plain):
    """Facts of a block. `resource` is a SKU or a cluster of the team; `who` are user names of the team."""

    people = serializers.IntegerField(min_value=0)
    idle_gpus = serializers.IntegerField(min_value=0)
    what = serializers.CharField(max_length=500)
    resource = serializers.CharField(max_length=60, required=False, allow_blank=True)
    who = serializers.ListField(child=serializers.CharField(max_length=150), required=False, max_length=200)


class BlockInput(BlockFactsInput):
    """What the team says about being blocked, and since when."""

    since = serializers.DateTimeField()


class TicketInput(Plain):
    """A request: `answers` as the offering's `answers_schema` says."""

    offering = serializers.SlugField()
    team = serializers.SlugField()
    answers = serializers.DictField()
    blocked = BlockInput(required=False, allow_null=True)


class VersionInput(Plain):
    """The version of the ticket that was looked at, unless If-Match says it; an older one is a conflict."""

    version = serializers.IntegerField(min_value=1, required=False)


class AnswerInput(VersionInput):
    """An answer to the desk's question."""

    answer = serializers.CharField(max_length=5000)


class WithdrawInput(VersionInput):
    """Why the request is taken back, if there is something to say."""

    reason = serializers.CharField(max_length=5000, required=False, allow_blank=True, default="")


class NothingInput(Plain):
    """An empty object."""
