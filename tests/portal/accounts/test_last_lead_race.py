"""Can two leads remove each other at the same moment and leave a team without one?"""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from portal.accounts import services
from portal.accounts.models import Membership, Team
from portal.kernel.errors import PortalError
from tests.personas import a_team, a_user


@pytest.mark.django_db(transaction=True)
def test_two_leads_that_remove_each_other_leave_one() -> None:
    team = a_team("vision")
    one, two = (a_user(name, team=team, role="lead") for name in ("one", "two"))
    start = threading.Barrier(2)
    refused: list[PortalError] = []

    def remove(by: object, username: str) -> None:
        start.wait()
        try:
            services.remove_member(team=Team.objects.get(pk=team.pk), username=username, by=by)
        except PortalError as problem:
            refused.append(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=remove, args=pair) for pair in ((one, "two"), (two, "one"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Membership.objects.filter(team=team, role="lead").count() == 1
    assert len(refused) == 1
