"""Which jobs? Those that a person may see, and those that stand somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.db import models

from portal.accounts.models import User
from provisioning.jobs.states import ENDED, OWNED

if TYPE_CHECKING:
    from provisioning.jobs.models import Job  # noqa: F401 - the name in the annotation below


class JobQuerySet(models.QuerySet["Job"]):
    """Jobs by who may see them and by where they stand."""

    def visible_to(self, user: User | AnonymousUser) -> JobQuerySet:
        """All for infra staff; for everybody else the jobs of the orders they may see."""
        if not isinstance(user, User) or not user.is_active:
            return self.none()
        if user.is_infra:
            return self
        return self.filter(order__team__in=user.teams())

    def owned(self) -> JobQuerySet:
        """Jobs whose lease and nodes a worker holds."""
        return self.filter(status__in=OWNED)

    def asked_for(self) -> JobQuerySet:
        """Jobs as people count them: a whole is one, its shards are none."""
        return self.filter(whole=None)

    def ended(self) -> JobQuerySet:
        """Jobs of which nothing runs any more."""
        return self.filter(status__in=ENDED)
