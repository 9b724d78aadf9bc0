"""The API of credentials: which there are, set one, remove one. No answer holds a value."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.accounts.access import Scope
from portal.accounts.signed_in import signed_in
from provisioning.credentials import services
from provisioning.credentials.models import Credential, Kind
from provisioning.credentials.views import find

READ = Scope.FLEET_READ.value
RUN = Scope.PROVISION_EXECUTE.value


class CredentialOutput(serializers.Serializer[Credential]):
    """A credential without its value; empty `playbooks` or `nodes` mean all."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=Kind.values)
    variable = serializers.CharField(allow_blank=True)
    playbooks = serializers.ListField(child=serializers.CharField())
    nodes = serializers.SerializerMethodField()
    changed_at = serializers.DateTimeField()
    used_at = serializers.DateTimeField(allow_null=True)

    def get_nodes(self, credential: Credential) -> list[str]:
        """Names of nodes."""
        return sorted(node.name for node in credential.nodes.all())


class CredentialInput(serializers.Serializer[Any]):
    """What sets a credential; one of this name gets the new value and scope."""

    name = serializers.CharField(max_length=60)
    kind = serializers.ChoiceField(choices=Kind.values)
    value = serializers.CharField(write_only=True, trim_whitespace=False, max_length=services.LONGEST)
    variable = serializers.CharField(required=False, allow_blank=True, max_length=100, default="")
    playbooks = serializers.ListField(
        child=serializers.CharField(max_length=40), required=False, default=list
    )
    nodes = serializers.ListField(child=serializers.CharField(max_length=253), required=False, default=list)


class Credentials(generics.ListAPIView[Credential]):
    """The credentials an operator may set."""

    serializer_class = CredentialOutput
    required_scopes = {"GET": READ, "POST": RUN}

    @extend_schema(operation_id="credentials_list")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page of credentials; empty for everybody but operators."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Credential]:
        """By id: the pages' order."""
        rows = Credential.objects.visible_to(signed_in(self.request))
        return rows.prefetch_related("nodes").order_by("-created_at", "-id")

    @extend_schema(operation_id="credentials_set", request=CredentialInput, responses={201: CredentialOutput})
    def post(self, request: Request) -> Response:
        """An operator's: make it, or give it another value and scope."""
        told = CredentialInput(data=request.data)
        told.is_valid(raise_exception=True)
        credential = services.set_credential(**told.validated_data, by=signed_in(request))
        return Response(CredentialOutput(credential).data, status=status.HTTP_201_CREATED)


class CredentialDetail(APIView):
    """One credential."""

    required_scopes = {"DELETE": RUN}

    @extend_schema(operation_id="credentials_remove", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """An operator's: remove it; 404 for one that isn't theirs to know of."""
        services.remove_credential(find(request._request, name), by=signed_in(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


urlpatterns = [
    path("credentials", Credentials.as_view(), name="credentials"),
    path("credentials/<slug:name>", CredentialDetail.as_view(), name="credential"),
]
