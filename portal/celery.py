"""The Celery app: it rings bells. Rows in the database are the work; every message may be lost or doubled."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")  # noqa: TID251 - before Config exists

app = Celery("portal")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(
    [
        "requests_app.attachments",
        "portal.notify",
        *("portal.ledger", "portal.api", "provisioning.jobs", "provisioning.orders"),
        *("provisioning.retention", "provisioning.workers", "provisioning.schedules"),
        *("requests_app.quotas", "requests_app.clocks", "requests_app.triage", "requests_app.search"),
        *("requests_app.workarounds", "requests_app.priority", "requests_app.negotiation"),
    ]
)

app.conf.beat_schedule = {
    "send what is due": {"task": "notify.deliver", "schedule": 5.0, "options": {"expires": 15}},
    "put old mail away": {"task": "notify.put_away", "schedule": 86_400.0},
    "fetch mail": {"task": "notify.receive", "schedule": 30.0, "options": {"expires": 60}},
    "sweep files": {"task": "attachments.sweep", "schedule": 3600.0},
    "deliver what was lost": {"task": "ledger.deliver", "schedule": 3.0, "options": {"expires": 10}},
    "sweep jobs": {"task": "jobs.sweep", "schedule": 5.0, "options": {"expires": 15}},
    "sweep orders": {"task": "orders.sweep", "schedule": 15.0, "options": {"expires": 60}},
    "run what is scheduled": {"task": "schedules.tick", "schedule": 20.0, "options": {"expires": 60}},
    "let go what is old": {"task": "retention.retire", "schedule": 86_400.0},
    "lapse offers": {"task": "negotiation.lapse", "schedule": 60.0, "options": {"expires": 120}},
    "keep promises": {"task": "negotiation.keep", "schedule": 300.0, "options": {"expires": 600}},
    "end boosts": {"task": "quotas.end_boosts", "schedule": 60.0, "options": {"expires": 120}},
    "say which clocks are due": {"task": "clocks.sweep", "schedule": 60.0, "options": {"expires": 120}},
    "forget kept answers": {"task": "api.forget_answers", "schedule": 3600.0, "options": {"expires": 3600}},
    "sweep the desk": {"task": "desk.sweep", "schedule": 20.0, "options": {"expires": 60}},
    "catch up with the search": {"task": "search.catch_up", "schedule": 600.0, "options": {"expires": 600}},
    "sweep workarounds": {"task": "workarounds.sweep", "schedule": 60.0, "options": {"expires": 120}},
    "rank everything anew": {"task": "priority.rerank", "schedule": 5.0, "options": {"expires": 10}},
    "end pins": {"task": "priority.end_pins", "schedule": 60.0, "options": {"expires": 120}},
    "watch the queue": {"task": "priority.watch_crunch", "schedule": 900.0, "options": {"expires": 900}},
    "compute shares": {"task": "priority.refresh_shares", "schedule": 86_400.0},
    "rank what the day changes": {
        "task": "priority.turn_of_day",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    "look for drifted ranks": {"task": "priority.check_drift", "schedule": 86_400.0},
    "prove quotas": {"task": "quotas.prove", "schedule": 86_400.0},
}
