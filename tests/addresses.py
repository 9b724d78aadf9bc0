"""At which address does another process find what this test works with?"""

from __future__ import annotations

from urllib.parse import quote

from django.db import connection


def database_url() -> str:
    """The test's own database, which may listen on a file."""
    told = connection.settings_dict
    who = quote(told["USER"]) + (f":{quote(told['PASSWORD'])}" if told["PASSWORD"] else "")
    return f"postgres://{who}@{quote(told['HOST'], safe='')}:{told['PORT']}/{told['NAME']}"
