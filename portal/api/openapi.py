"""What does the API say of itself? Settings of the OpenAPI document, readable before Django is set up."""

from __future__ import annotations

from typing import Any

SETTINGS: dict[str, Any] = {
    "TITLE": "Quartermaster",
    "DESCRIPTION": "Self-service for GPU infrastructure: ask, decide, provision, validate.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "SORT_OPERATIONS": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": ["portal.api.schema.add_problems"],
}
