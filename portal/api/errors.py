"""How does the API say no? RFC 9457 problem+json, one shape for every refusal."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404, JsonResponse
from django.http.request import HttpRequest
from rest_framework import exceptions
from rest_framework.response import Response

from portal.kernel.errors import Invalid, LostRace, PortalError
from portal.kernel.versions import as_stale

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
UNPROCESSABLE = 422


def problem(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """DRF's exception handler: every known refusal becomes a problem; unknown ones stay errors of ours."""
    if isinstance(error, LostRace) and _has_tag(context):
        error = as_stale(error)
    body, status, headers = _describe(error)
    if body is None:
        return None
    return Response(body, status=status, headers=headers, content_type=CONTENT_TYPE)


def _describe(error: Exception) -> tuple[dict[str, Any] | None, int, dict[str, str]]:
    if isinstance(error, PortalError):
        return from_portal_error(error), error.status, _etag(error)
    if isinstance(error, Http404):
        return shape(404, "not-found", "There is nothing here that you may see."), 404, {}
    if isinstance(error, PermissionDenied):
        return shape(403, "not-allowed", "You may not do that."), 403, {}
    if isinstance(error, OperationalError):
        logger.error("the database can't be reached", exc_info=error)
        return (
            shape(503, "unavailable", "The portal can't reach its database; try again."),
            503,
            {"Retry-After": "5"},
        )
    if isinstance(error, exceptions.ValidationError):
        return _invalid(error), UNPROCESSABLE, {}
    if isinstance(error, exceptions.APIException):
        return _from_drf(error), error.status_code, _headers(error)
    return None, 500, {}


def _has_tag(context: Mapping[str, Any]) -> bool:
    request = context.get("request")
    return request is not None and "If-Match" in request.headers


def _etag(error: PortalError) -> dict[str, str]:
    """The current tag, where the refusal knows it: a client looks again and sends it."""
    tag = error.data.get("etag")
    return {"ETag": tag} if isinstance(tag, str) else {}


def shape(status: int, code: str, detail: str, **more: Any) -> dict[str, Any]:
    """The body of a problem; `type` is stable and relative to the portal."""
    return {
        "type": f"/api/v1/problems#{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        **more,
    }


def from_portal_error(error: PortalError) -> dict[str, Any]:
    """A refusal of a service; `data` holds what a client may act on."""
    more: dict[str, Any] = {"data": error.data} if error.data else {}
    if isinstance(error, Invalid):
        more["errors"] = [
            {"pointer": _pointer(name), "detail": text}
            for name, texts in error.fields.items()
            for text in texts
        ]
    return {**shape(error.status, error.code, error.message, **more), "title": error.title}


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace(".", "/")


def _invalid(error: exceptions.ValidationError) -> dict[str, Any]:
    """The same status and code as a service's Invalid: a client shouldn't care who looked first."""
    found = list(_flatten(error.detail, ""))
    return shape(UNPROCESSABLE, "invalid", "Some fields need another look.", errors=found)


def _from_drf(error: exceptions.APIException) -> dict[str, Any]:
    return shape(error.status_code, str(error.get_codes()).replace("_", "-"), str(error.detail))


def _flatten(detail: Any, pointer: str) -> Sequence[dict[str, str]]:
    if isinstance(detail, Mapping):
        return [row for name, inner in detail.items() for row in _flatten(inner, f"{pointer}/{name}")]
    if isinstance(detail, list):
        rows: list[dict[str, str]] = []
        for index, inner in enumerate(detail):
            deeper = f"{pointer}/{index}" if isinstance(inner, Mapping | list) else pointer
            rows.extend(_flatten(inner, deeper))
        return rows
    return [{"pointer": pointer or "/", "detail": str(detail)}]


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers: dict[str, str] = {}
    wait = getattr(error, "wait", None)
    if wait is not None:
        headers["Retry-After"] = str(int(wait))
    challenge = getattr(error, "auth_header", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    return headers


def unknown_address(request: HttpRequest, *_: Any, **__: Any) -> JsonResponse:
    """The 404 of an address that no room has."""
    body = shape(404, "not-found", f"The API has no {request.path}; /api/v1/schema lists what there is.")
    return JsonResponse(body, status=404, content_type=CONTENT_TYPE)
