"""The portal's keeper of orphaned children, with the one more playbook that the chaos workers know."""

from __future__ import annotations

import sys

from provisioning.jobs.keeper import main
from tests.chaos import worker_app

if __name__ == "__main__":
    assert worker_app.app
    sys.exit(main(sys.argv[1:]))
