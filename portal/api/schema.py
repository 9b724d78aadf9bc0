"""What does the API promise? OpenAPI 3.1, made from the views; problems are part of every answer."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457: what went wrong and what would do.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "data": {"type": "object", "additionalProperties": True},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}


class PortalSchema(AutoSchema):
    """Operation ids are METHOD_room_thing; the tag is the first part of the path."""

    def get_tags(self) -> list[str]:
        """One tag per room."""
        parts = [part for part in self.path.removeprefix("/api/v1/").split("/") if part]
        return [parts[0] if parts else "api"]


def add_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:  # noqa: FBT001 - the hook's signature is drf-spectacular's
    """Every operation may answer with a problem."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    answer = {
        "description": "A refusal",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for operations in result.get("paths", {}).values():
        for operation in operations.values():
            if isinstance(operation, dict) and "responses" in operation:
                operation["responses"].setdefault("default", answer)
    return result


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How clients sign in, for the schema."""

    target_class = "portal.api.auth.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """A bearer token."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "qm_pat_…"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the portal's own pages sign in, for the schema."""

    target_class = "portal.api.auth.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """The session's cookie."""
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
