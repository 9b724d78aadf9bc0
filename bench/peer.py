"""django-helpdesk as a peer, in an environment of its own: `python -P bench/peer.py fill 100000 50000`, then `serve DESCRIPTOR`.

Its settings are its demo's without debug: one queue a team of staff, PostgreSQL, mail that goes nowhere.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from urllib.parse import unquote, urlsplit

from django.conf import settings

sys.modules.setdefault("peer", sys.modules[__name__])  # the settings name it

PASSWORD = "a bench is no secret"
QUEUES = 20
FILL = """
INSERT INTO helpdesk_ticket (title, queue_id, created, modified, submitter_email, assigned_to_id, status, on_hold, description,
  resolution, priority, secret_key)
SELECT initcap(w[1 + floor(random() * 50)::int]) || ' ' || w[1 + floor(random() * 50)::int] || ' ' || w[1 + floor(random() * 50)::int],
  1 + n %% {queues}, now() - ({tickets} - n) * (interval '730 days' / {tickets}), now(), 'person' || n %% 6000 || '@example.org', NULL,
  CASE WHEN n > {tickets} - {open} THEN 1 ELSE 4 END, false,
  w[1 + floor(random() * 50)::int] || ' ' || w[1 + floor(random() * 50)::int], '', 1 + n %% 5, md5(n::text)
FROM generate_series(1, {tickets}) AS n, (SELECT %(words)s::text[] AS w) AS words;
INSERT INTO helpdesk_followup (ticket_id, date, title, comment, public, user_id, new_status)
SELECT id, created + interval '1 hour', 'Comment', 'We looked at the ' || title || ' again.', true, NULL, NULL
FROM helpdesk_ticket WHERE id %% 2 = 0;
"""


def configure() -> None:
    """Settings of a deployment like ours: no debug, sessions in the database, templates compiled once."""
    where = urlsplit(os.environ["PEER_DATABASE_URL"])
    settings.configure(
        DEBUG=False,
        SECRET_KEY="a bench is no secret",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF="peer",
        ASGI_APPLICATION="peer.application",
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": where.path[1:],
                "HOST": unquote(where.hostname or ""),  # a folder where the server listens on a file
                "PORT": where.port or 5432,
                "USER": where.username or "",
                "PASSWORD": where.password or "",
            }
        },
        INSTALLED_APPS=[
            *(f"django.contrib.{name}" for name in ("admin", "auth", "contenttypes", "sessions", "messages")),
            *("django.contrib.sites", "django.contrib.humanize", "django.contrib.staticfiles"),
            *("rest_framework", "helpdesk"),
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        SITE_ID=1,
        LOGIN_URL="helpdesk:login",
        STATIC_URL="/static/",
        EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        USE_TZ=True,
        HELPDESK_TEAMS_MODE_ENABLED=False,
        HELPDESK_PUBLIC_TICKET_FORM_SKIP_CAPTCHA=True,
    )


def fill(tickets: int, still_open: int) -> dict[str, object]:
    """The same number of tickets, as many of them open, in words of the same list."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.db import connection
    from helpdesk.models import Queue, Ticket

    words = json.loads(os.environ["BENCH_WORDS"])
    began = time.monotonic()
    call_command("migrate", verbosity=0)
    get_user_model().objects.create_superuser("bench", "bench@example.org", PASSWORD)
    for number in range(1, QUEUES + 1):
        Queue.objects.create(title=f"Queue {number}", slug=f"queue-{number}")
    script = FILL.format(tickets=tickets, open=still_open, queues=QUEUES)
    with connection.cursor() as cursor:
        for statement in filter(str.strip, script.split(";\n")):
            cursor.execute(statement, {"words": words})
        cursor.execute("VACUUM (ANALYZE)")
    chosen = random.Random(7)
    waiting = list(Ticket.objects.filter(status=1).values_list("pk", flat=True))
    chosen.shuffle(waiting)
    return {
        "fill_seconds": time.monotonic() - began,
        "tickets": waiting[:100],
        "decide": waiting[100:220],
        "open": len(waiting),
        "user": "bench",
        "password": PASSWORD,
    }


if not settings.configured:
    configure()
    import django

    django.setup()

from django.contrib import admin
from django.core.asgi import get_asgi_application
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls), path("", include("helpdesk.urls"))]
application = get_asgi_application()


def serve(descriptor: int) -> None:
    """As the portal's own server is run."""
    import socket

    import uvicorn

    options = {"log_level": "warning", "access_log": False, "server_header": False, "lifespan": "off"}
    uvicorn.Server(uvicorn.Config(application, **options)).run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        print(json.dumps(fill(int(sys.argv[2]), int(sys.argv[3]))))
