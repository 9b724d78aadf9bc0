"""What do people call a pillar?"""

from __future__ import annotations

from django import template

from requests_app.catalogue.queries import PILLAR_TITLES

register = template.Library()


@register.filter
def pillar_title(pillar: str) -> str:
    """The title of a pillar; what is none stays as it is."""
    return PILLAR_TITLES.get(pillar, pillar)
