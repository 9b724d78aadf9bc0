"""The inbox and a person's choices for API clients."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid
from portal.notify import preferences, services
from portal.notify.kinds import SAYS
from portal.notify.models import Notification
from portal.notify.queries import inbox_of

SCOPES = {"GET": "requests:read", "POST": "requests:write"}
Plain = serializers.Serializer[Any]


class MessageOutput(Plain):
    """One message of the inbox. `comment` is the number of the comment it is about."""

    id = serializers.IntegerField()
    kind = serializers.CharField()
    topic = serializers.CharField()
    title = serializers.CharField()
    ticket = serializers.CharField(source="ticket.ref", default=None, allow_null=True)
    comment = serializers.IntegerField(source="comment_id", allow_null=True)
    at = serializers.DateTimeField(source="created_at")
    read_at = serializers.DateTimeField(allow_null=True)


class ReadInput(Plain):
    """Which messages have been read; all of them when `messages` is left away."""

    messages = serializers.ListField(
        child=serializers.IntegerField(min_value=1), required=False, max_length=500
    )


class ReadOutput(Plain):
    """How many were unread until now."""

    read = serializers.IntegerField()


class ChoiceShape(Plain):
    """How soon to hear of a topic by one way: `now`, `digest` or `off`."""

    topic = serializers.CharField()
    channel = serializers.CharField()
    when = serializers.CharField()


class ChoiceOutput(ChoiceShape):
    """The same, with what the topic is."""

    says = serializers.CharField()


class ChoicesOutput(Plain):
    """Every choice, defaults filled in, and the hour of the summary in the person's own zone."""

    digest_hour = serializers.IntegerField()
    choices = ChoiceOutput(many=True)


class ChoicesInput(Plain):
    """What is to change; what isn't named stays."""

    digest_hour = serializers.IntegerField(required=False, min_value=0, max_value=23)
    choices = ChoiceShape(many=True, required=False)


class Inbox(generics.ListAPIView[Notification]):
    """The caller's messages."""

    serializer_class = MessageOutput
    required_scopes = SCOPES
    allowed_filters = frozenset({"unread"})
    queryset = Notification.objects.none()

    def get_queryset(self) -> QuerySet[Notification]:
        """One's own, of what one may still see."""
        unread = self.request.query_params.get("unread", "false")
        if unread not in ("true", "false"):
            raise Invalid({"unread": ["Use true or false."]})
        return inbox_of(signed_in(self.request), unread=unread == "true")

    @extend_schema(operation_id="list_inbox", parameters=[OpenApiParameter("unread", bool)])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of messages, newest first."""
        return super().get(request, *args, **kwargs)


class InboxRead(APIView):
    """Saying that messages were read."""

    required_scopes = SCOPES

    @extend_schema(operation_id="read_inbox", request=ReadInput, responses=ReadOutput)
    def post(self, request: Request) -> Response:
        """Mark some or all as read; others' messages stay as they are."""
        given = ReadInput(data=request.data)
        given.is_valid(raise_exception=True)
        count = services.mark_read(numbers=given.validated_data.get("messages"), by=signed_in(request))
        return Response({"read": count})


class Choices(APIView):
    """What the caller wants to hear of."""

    required_scopes = SCOPES

    @extend_schema(operation_id="get_notification_choices", responses=ChoicesOutput)
    def get(self, request: Request) -> Response:
        """Every choice."""
        return self.answer(request)

    @extend_schema(operation_id="set_notification_choices", request=ChoicesInput, responses=ChoicesOutput)
    def post(self, request: Request) -> Response:
        """Change some."""
        given = ChoicesInput(data=request.data)
        given.is_valid(raise_exception=True)
        wanted = {
            (each["topic"], each["channel"]): each["when"] for each in given.validated_data.get("choices", ())
        }
        preferences.choose(
            choices=wanted, hour=given.validated_data.get("digest_hour"), by=signed_in(request)
        )
        return self.answer(request)

    def answer(self, request: Request) -> Response:
        """All choices as they are."""
        person = signed_in(request)
        rows = [
            {"topic": topic, "channel": channel, "when": when, "says": SAYS[topic]}
            for (topic, channel), when in preferences.chosen_by(person).items()
        ]
        body = {"digest_hour": preferences.digest_hour(person), "choices": rows}
        return Response(ChoicesOutput(body).data)


urlpatterns = [
    path("inbox", Inbox.as_view(), name="inbox"),
    path("inbox/read", InboxRead.as_view(), name="inbox-read"),
    path("notification-choices", Choices.as_view(), name="notification-choices"),
]
