#!/usr/bin/env python
"""Where every command starts."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")  # noqa: TID251 - before Config exists
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
