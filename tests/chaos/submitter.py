"""Asks for jobs as fast as it can, until it is killed: `python -m tests.chaos.submitter DATABASE_URL NODE`."""

from __future__ import annotations

import sys

import django


def main(node: str) -> None:
    django.setup()
    from provisioning.fleet.models import Node  # noqa: PLC0415 - needs the settings
    from provisioning.jobs.services import request_job  # noqa: PLC0415

    nodes = [Node.objects.get(name=node)]
    print("ready", flush=True)  # noqa: T201 - its starter waits for it
    while True:
        request_job(
            playbook="drain_node", nodes=nodes, variables={"reason": "storm"}, purpose="a storm", by=None
        )


if __name__ == "__main__":
    main(sys.argv[1])
