"""Who follows the child of a worker that is gone? This process: `python -m provisioning.jobs.keeper JOB ATTEMPT MARK STEP`."""

from __future__ import annotations

import logging
import os
import sys


def main(words: list[str]) -> int:
    """Follow the attempt that the sweep took over."""
    import django  # noqa: PLC0415 - nothing of the portal can be imported before it is set up

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")  # noqa: TID251 - before Config exists
    django.setup()
    from provisioning.jobs import adoption, claims  # noqa: PLC0415 - as above

    job_id, attempt, mark, step = words
    held = claims.Claim(
        job_id=int(job_id), attempt=int(attempt), mark=mark, lease=claims.lease_span(), step=int(step)
    )
    became = adoption.keep(held)
    logging.getLogger(__name__).warning(
        "job %s attempt %s was followed to its end: %s", job_id, attempt, became
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
