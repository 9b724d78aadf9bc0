"""Can every node be reached: is there a worker at each site?"""

from __future__ import annotations

from django.db import DatabaseError

from portal.doctor.checks import Answer, Context, NotCheckedError, check, ok, wrong
from portal.doctor.services import database
from provisioning.workers import queries
from provisioning.workers.models import Worker


@check("sites")
def sites(context: Context) -> Answer:
    """Sites that have nodes, and living workers for them."""
    with database(context):
        pass  # Django's own connection, used below, would wait long for a server that is away
    try:
        if not Worker.objects.all().alive().exists():
            raise NotCheckedError("no worker is running; `manage.py up` or `manage.py worker` starts some")
        lacking = queries.unserved()
    except DatabaseError as problem:
        raise NotCheckedError("the tables are not there yet") from problem
    if lacking:
        said = "; ".join(each.say() for each in lacking)
        return wrong(
            f"nodes that no worker reaches: {said}",
            "Start `manage.py worker jobs` and `manage.py worker looks` there with PORTAL_WORKER_SITES (- is the site "
            "without a name).",
        )
    return ok("every site with nodes has workers")
