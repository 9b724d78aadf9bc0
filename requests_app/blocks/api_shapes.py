"""What do blocks look like to API clients? GPUs and people are counts, losses are hours, times carry a zone."""

from __future__ import annotations

from rest_framework import serializers

from requests_app.blocks import rules
from requests_app.blocks.models import BlockInterval, BlockPerson, Commitment
from requests_app.tickets.api_shapes import BlockFactsInput, Plain


class AmendInput(BlockFactsInput):
    """Corrected facts, and the version of the ticket that was looked at."""

    version = serializers.IntegerField(min_value=1)


class SpeakInput(Plain):
    """A person's own word."""

    answer = serializers.ChoiceField(choices=["yes", "half", "no"])


class BlockPersonOutput(serializers.ModelSerializer[BlockPerson]):
    """A named person and what they said themselves."""

    user = serializers.CharField(source="user.username")

    class Meta:
        model = BlockPerson
        fields = ("user", "confirmed_at", "refused_at", "half")
        read_only_fields = fields


class BlockOutput(serializers.ModelSerializer[BlockInterval]):
    """One interval with its facts as they stand now."""

    id = serializers.IntegerField()
    since = serializers.DateTimeField(source="started_at")
    claimed_by = serializers.CharField(source="claimed_by.username")
    found_by = serializers.CharField(source="confirmed_by.username", default=None, allow_null=True)
    ended_by = serializers.CharField(source="ended_by.username", default=None, allow_null=True)
    amendments = serializers.SerializerMethodField()
    persons = BlockPersonOutput(many=True)

    class Meta:
        model = BlockInterval
        fields = (
            *("id", "since", "ended_at", "end_source", "ended_by", "people", "idle_gpus", "resource", "what"),
            *("claimed_by", "claimed_at", "found_by", "amendments", "persons"),
        )
        read_only_fields = fields

    def get_amendments(self, block: BlockInterval) -> int:
        """How often its facts were corrected."""
        return len(block.amendments.all())


class WholeBlock(BlockOutput):
    """An interval with what it has cost until now."""

    lost_gpu_hours = serializers.FloatField()
    lost_people_hours = serializers.FloatField()

    class Meta(BlockOutput.Meta):
        fields = (*BlockOutput.Meta.fields, "lost_gpu_hours", "lost_people_hours")  # type: ignore[assignment]
        read_only_fields = fields  # type: ignore[assignment]


class BlocksOutput(Plain):
    """A ticket's intervals, latest first, and the ticket's version."""

    version = serializers.IntegerField()
    blocks = WholeBlock(many=True)


class ReadingInput(Plain):
    """One measurement: GPUs that stood idle at a moment. 0 with `busy_since` says that they work again since then."""

    key = serializers.CharField(max_length=80)
    at = serializers.DateTimeField()
    idle_gpus = serializers.IntegerField(min_value=0, max_value=rules.MOST_GPUS)
    resource = serializers.CharField(
        max_length=rules.LONGEST_RESOURCE, required=False, allow_blank=True, default=""
    )
    busy_since = serializers.DateTimeField(required=False, allow_null=True, default=None)


class ReadingOutput(Plain):
    """A measurement as it is kept, and whether the team is still blocked."""

    key = serializers.CharField()
    at = serializers.DateTimeField()
    idle_gpus = serializers.IntegerField()
    is_blocked = serializers.BooleanField()


class CommitmentInput(Plain):
    """What is owed: `loss_per_day` in GPU-hours, counted from `lead_days` before the day; `sponsor` is a user name."""

    what = serializers.CharField(max_length=200)
    due_on = serializers.DateField()
    loss_per_day = serializers.IntegerField(min_value=1, max_value=1_000_000)
    lead_days = serializers.IntegerField(min_value=1, max_value=90, required=False, default=14)
    sponsor = serializers.CharField(max_length=150)


class CommitmentOutput(serializers.ModelSerializer[Commitment]):
    """What is owed. It counts once `confirmed_at` is set."""

    id = serializers.IntegerField()
    sponsor = serializers.CharField(source="sponsor.username")

    class Meta:
        model = Commitment
        fields = (
            *("id", "what", "due_on", "lead_days", "loss_per_day", "sponsor"),
            *("asked_at", "confirmed_at", "dropped_at"),
        )
        read_only_fields = fields
