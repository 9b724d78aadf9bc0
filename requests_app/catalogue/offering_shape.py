"""Which keys may an offering's file have? Its shape as JSON Schema; what goes beyond a shape is checked by the reader."""

from __future__ import annotations

from typing import Any

from requests_app.catalogue.questions import FORMATS, QuestionType

PILLARS = ("developer-productivity", "compute", "networking-storage", "observability", "data")
KINDS = ("cluster", "quota", "unblock", "change")
FARTHEST = 3
"""`focus_distance`: 0 is what the infra team works on now, 3 is what it may never do itself."""
FAR_FROM_FOCUS = 2
"""From here on an ask gets a workaround first and a project that replaces it."""
FULFILMENTS = ("cluster_build", "cluster_resize", "quota_raise", "quota_boost", "manual", "bundle")
"""A bundle makes several lines, each with a fulfilment of its own."""
LINE_FULFILMENTS = tuple(each for each in FULFILMENTS if each != "bundle")
POLICY_LIMITS = ("max_gpus", "max_share_of_free", "max_days")

_NAME = {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,39}$"}
_SAID = {"type": "string", "minLength": 1, "maxLength": 200}
_LONG = {"type": "string", "minLength": 1, "maxLength": 4000}
_NUMBER = {"type": "number", "minimum": 0, "maximum": 1_000_000}
_ANSWER = {"type": ["string", "integer", "number", "boolean"]}

_CHOICE = {
    "type": "object",
    "properties": {"value": {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,59}$"}, "label": _SAID},
    "required": ["value", "label"],
    "additionalProperties": False,
}
_CONDITION = {
    "type": "object",
    "properties": {
        "question": _NAME,
        "equals": _ANSWER,
        "in": {"type": "array", "items": _ANSWER, "minItems": 1},
    },
    "required": ["question"],
    "oneOf": [{"required": ["equals"]}, {"required": ["in"]}],
    "additionalProperties": False,
}
_QUESTION = {
    "type": "object",
    "properties": {
        "name": _NAME,
        "label": _SAID,
        "help": {"type": "string", "maxLength": 400},
        "type": {"type": "string", "enum": [each.value for each in QuestionType]},
        "required": {"type": "boolean"},
        "default": {"type": ["string", "integer", "number", "boolean", "array"]},
        "unit": {"type": "string", "minLength": 1, "maxLength": 20},
        "min": _NUMBER,
        "max": _NUMBER,
        "step": {"type": "number", "exclusiveMinimum": 0},
        "max_length": {"type": "integer", "minimum": 1, "maximum": 5000},
        "format": {"type": "string", "enum": list(FORMATS)},
        "within_days": {"type": "integer", "minimum": 0, "maximum": 1098},
        "choices": {"type": "array", "items": _CHOICE, "minItems": 1, "maxItems": 60},
        "show_if": _CONDITION,
    },
    "required": ["name", "label", "type"],
    "additionalProperties": False,
}
_LINE = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 80},
        "fulfilment": {"type": "string", "enum": list(LINE_FULFILMENTS)},
        "takes": {"type": "object", "propertyNames": _NAME, "additionalProperties": _NAME},
        "show_if": _CONDITION,
        "quantity": {
            "type": "object",
            "properties": {"question": _NAME, "unit": {"type": "string", "minLength": 1, "maxLength": 20}},
            "required": ["question", "unit"],
            "additionalProperties": False,
        },
    },
    "required": ["title", "fulfilment"],
    "additionalProperties": False,
}

OFFERING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "slug": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,39}$"},
        "pillar": {"type": "string", "enum": list(PILLARS)},
        "kind": {"type": "string", "enum": list(KINDS)},
        "title": {"type": "string", "minLength": 1, "maxLength": 80},
        "promise": _SAID,
        "description": _LONG,
        "lead_time": {"type": "string", "minLength": 1, "maxLength": 80},
        "fulfilment": {"type": "string", "enum": list(FULFILMENTS)},
        "effort_hours": {"type": "number", "exclusiveMinimum": 0, "maximum": 1000},
        "focus_distance": {"type": "integer", "minimum": 0, "maximum": FARTHEST},
        "ticket_title": _SAID,
        "policy": {
            "type": "object",
            "properties": {
                "max_gpus": {"type": "integer", "minimum": 0, "maximum": 1_000_000},
                "max_share_of_free": {"type": "number", "minimum": 0, "maximum": 1},
                "max_days": {"type": "integer", "minimum": 0, "maximum": 3660},
            },
            "additionalProperties": False,
        },
        "quantity": {
            "type": "object",
            "properties": {"question": _NAME, "unit": {"type": "string", "minLength": 1, "maxLength": 20}},
            "required": ["question", "unit"],
            "additionalProperties": False,
        },
        "lines": {"type": "array", "items": _LINE, "minItems": 2, "maxItems": 20},
        "schema": {"type": "array", "items": _QUESTION, "minItems": 1, "maxItems": 40},
    },
    "required": [
        "slug", "pillar", "kind", "title", "promise", "description", "lead_time",
        "fulfilment", "effort_hours", "ticket_title", "schema",
    ],
    "additionalProperties": False,
}  # fmt: skip

NEEDED: dict[str, dict[str, QuestionType]] = {
    "cluster_build": {
        "sku": QuestionType.SKU,
        "nodes": QuestionType.INTEGER,
        "cluster_name": QuestionType.TEXT,
    },
    "cluster_resize": {"cluster": QuestionType.TEAM_CLUSTER, "nodes": QuestionType.INTEGER},
    "quota_raise": {"sku": QuestionType.SKU, "gpus": QuestionType.INTEGER},
    "quota_boost": {
        "sku": QuestionType.SKU,
        "gpus": QuestionType.INTEGER,
        "days": QuestionType.DURATION,
    },
    "manual": {},
    "bundle": {},
}
"""Questions without which a fulfilment can't be made into lines, with the type each must have."""

OPTIONAL: dict[str, QuestionType] = {
    "wanted_by": QuestionType.DATE,
    "lease_days": QuestionType.DURATION,
    "driver_version": QuestionType.TEXT,
    "storage_mounts": QuestionType.STORAGE_MOUNTS,
}
"""Questions that mean the same in every offering that asks them."""
