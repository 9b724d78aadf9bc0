"""Why can less than everything be granted? Reasons as data, so that the yes-rate can say what stood in the way."""

from __future__ import annotations

REASONS: dict[str, str] = {
    "capacity": "There are not enough healthy nodes.",
    "quota": "The team's quota does not cover it.",
    "focus": "It is far from what the infra team works on now.",
    "policy": "A rule forbids it.",
    "cost": "It costs more than it brings.",
    "needs-info": "Too little is known to decide.",
    "better-path": "Something else does it better.",
    "duplicate": "It has been asked for already.",
}
