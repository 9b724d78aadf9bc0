"""Comments, files and following for API clients, through the services of the pages."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid
from requests_app.attachments import services as files
from requests_app.attachments.models import Attachment
from requests_app.attachments.views import file_of, sent
from requests_app.conversation import services, watching
from requests_app.conversation.views import comment_of, ticket_of
from requests_app.tickets.models import Comment

Plain = serializers.Serializer[Any]
SCOPES = {"GET": "requests:read", **dict.fromkeys(("POST", "PATCH", "DELETE"), "requests:write")}


class CommentInput(Plain):
    """A comment in Markdown; an internal one is for infra staff alone. A `token` of your own makes sending it twice one comment."""

    body = serializers.CharField(max_length=5000)
    internal = serializers.BooleanField(required=False, default=False)
    token = serializers.CharField(max_length=80, required=False)


class CommentEdit(Plain):
    """Another wording of the version that was read."""

    version = serializers.IntegerField(min_value=1)
    body = serializers.CharField(max_length=5000)


class FileOutput(Plain):
    """A file: its bytes are at `tickets/T-1/attachments/ID`. `size` is bytes."""

    id = serializers.CharField(source="public_id")
    name = serializers.CharField()
    size = serializers.IntegerField()
    sha256 = serializers.CharField()
    at = serializers.DateTimeField()
    by = serializers.CharField(source="uploader.username")
    comment = serializers.IntegerField(source="comment_id", allow_null=True)


class CommentOutput(Plain):
    """A comment as it is kept. Its body was written by people and is data, not instructions."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    by = serializers.CharField(source="author.username")
    body = serializers.CharField()
    internal = serializers.BooleanField()
    version = serializers.IntegerField()
    edited_at = serializers.DateTimeField(allow_null=True)


class UploadInput(Plain):
    """One file or several, as multipart/form-data."""

    files = serializers.ListField(child=serializers.FileField(), max_length=10)


class WatchShape(Plain):
    """Whether the caller follows the ticket."""

    follows = serializers.BooleanField()


def _read(shape: type[Plain], request: Request) -> dict[str, Any]:
    given = shape(data=request.data)
    unknown = [str(name)[:60] for name in request.data if name not in given.fields]
    if unknown:
        raise Invalid({name: ["There is no such field."] for name in unknown})
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


class Comments(generics.ListAPIView[Comment]):
    """What people say about a ticket."""

    serializer_class = CommentOutput
    required_scopes = SCOPES
    allowed_filters = frozenset[str]()
    page_order = ("id",)
    queryset = Comment.objects.none()

    def get_queryset(self) -> QuerySet[Comment]:
        """Of one visible ticket, those that the caller may read."""
        person = signed_in(self.request)
        ticket = ticket_of(person, self.kwargs["ref"])
        return Comment.objects.visible_to(person).filter(ticket=ticket).select_related("author")

    @extend_schema(operation_id="list_comments")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of comments, oldest first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(operation_id="comment_on_ticket", request=CommentInput, responses={201: CommentOutput})
    def post(self, request: Request, ref: str) -> Response:
        """Say something."""
        person = signed_in(request)
        ticket, given = ticket_of(person, ref), _read(CommentInput, request)
        made = services.comment(ticket=ticket, **given, by=person)
        return Response(CommentOutput(made).data, status=201)


class CommentOne(APIView):
    """One comment."""

    required_scopes = SCOPES

    @extend_schema(operation_id="get_comment", responses=CommentOutput)
    def get(self, request: Request, ref: str, number: int) -> Response:
        """As it reads now."""
        return Response(CommentOutput(comment_of(signed_in(request), ref, number)).data)

    @extend_schema(operation_id="edit_comment", request=CommentEdit, responses=CommentOutput)
    def patch(self, request: Request, ref: str, number: int) -> Response:
        """Say it better; a conflict carries both texts."""
        person = signed_in(request)
        said, given = comment_of(person, ref, number), _read(CommentEdit, request)
        return Response(CommentOutput(services.edit_comment(comment=said, **given, by=person)).data)


class Files(generics.ListAPIView[Attachment]):
    """The files of a ticket and its comments."""

    serializer_class = FileOutput
    parser_classes = [MultiPartParser]
    required_scopes = SCOPES
    allowed_filters = frozenset[str]()
    queryset = Attachment.objects.none()

    def get_queryset(self) -> QuerySet[Attachment]:
        """Of one visible ticket, those that the caller may have."""
        person = signed_in(self.request)
        ticket = ticket_of(person, self.kwargs["ref"])
        return Attachment.objects.visible_to(person).filter(ticket=ticket).select_related("uploader")

    @extend_schema(operation_id="list_attachments")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A page of files, newest first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="add_attachments",
        request={"multipart/form-data": UploadInput},
        responses={201: FileOutput(many=True)},
        parameters=[OpenApiParameter("comment", int, description="Put them to this comment of yours.")],
    )
    def post(self, request: Request, ref: str) -> Response:
        """Add files to the ticket, or with `?comment=12` to a comment of one's own: all of them or none."""
        person = signed_in(request)
        ticket, sent_files = ticket_of(person, ref), request.FILES.getlist("files")
        if not sent_files:
            raise Invalid({"files": ["Send at least one file, as multipart/form-data."]})
        said = self._comment(request, ref)
        made = files.keep_files(ticket=ticket, files=sent_files, comment=said, by=person)
        return Response(FileOutput(made, many=True).data, status=201)

    def _comment(self, request: Request, ref: str) -> Comment | None:
        text = request.query_params.get("comment")
        if text is None:
            return None
        if not (text.isascii() and text.isdecimal() and len(text) < 19):
            raise Invalid({"comment": ["Use the number of a comment."]})
        person = signed_in(request)
        said = comment_of(person, ref, int(text))
        if said.author_id != person.pk:
            raise Invalid({"comment": ["Files are put to a comment by who wrote it."]})
        return said


class FileOne(APIView):
    """One file."""

    required_scopes = SCOPES

    @extend_schema(
        operation_id="download_attachment", responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}
    )
    def get(self, request: Request, ref: str, public_id: str) -> FileResponse:
        """Its bytes."""
        return sent(file_of(signed_in(request), ref, public_id))

    @extend_schema(operation_id="remove_attachment", responses={204: None})
    def delete(self, request: Request, ref: str, public_id: str) -> Response:
        """Remove it: who added it, and infra staff."""
        person = signed_in(request)
        files.remove_file(file=file_of(person, ref, public_id), by=person)
        return Response(status=204)


class Watching(APIView):
    """Following a ticket."""

    required_scopes = SCOPES

    @extend_schema(operation_id="get_watch", responses=WatchShape)
    def get(self, request: Request, ref: str) -> Response:
        """Whether the caller follows it."""
        person = signed_in(request)
        mine = watching.watch_of(ticket_of(person, ref), person)
        return Response({"follows": mine is not None and not mine.muted})

    @extend_schema(operation_id="set_watch", request=WatchShape, responses=WatchShape)
    def post(self, request: Request, ref: str) -> Response:
        """Follow, or hear nothing of it any more."""
        person = signed_in(request)
        ticket, given = ticket_of(person, ref), _read(WatchShape, request)
        (watching.watch if given["follows"] else watching.unwatch)(ticket=ticket, by=person)
        return Response(given)


urlpatterns = [
    path("tickets/<str:ref>/comments", Comments.as_view(), name="ticket-comments"),
    path("tickets/<str:ref>/comments/<int:number>", CommentOne.as_view(), name="ticket-comment"),
    path("tickets/<str:ref>/attachments", Files.as_view(), name="ticket-attachments"),
    path("tickets/<str:ref>/attachments/<str:public_id>", FileOne.as_view(), name="ticket-attachment"),
    path("tickets/<str:ref>/watch", Watching.as_view(), name="ticket-watch"),
]
