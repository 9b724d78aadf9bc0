"""How do pages of other rooms show what jobs do to a node? A notice for one that is draining."""

from __future__ import annotations

from typing import Any

from django import template

from portal.accounts.access import Action
from provisioning.fleet.models import Node
from provisioning.jobs.draining import draining

register = template.Library()


@register.inclusion_tag("provisioning/jobs/node_drain.html", takes_context=True)
def node_draining(context: template.Context, node: Node) -> dict[str, Any]:
    """Since when and why a node is kept from other jobs; nothing for a quiet one, and nothing for who isn't infra."""
    user = context["request"].user
    lease = draining().filter(node=node).select_related("job").first() if user.is_infra else None
    return {
        "lease": lease,
        "node": node,
        "may_declare": lease is not None and user.can(Action.OPERATE_FLEET),
        "csrf_token": context.get("csrf_token"),
    }
