"""How does a portal of a million tickets look? Made by SQL in a minute or two: `python -m bench.filling --tickets 1000000`.

2,000 teams of which few ask much and most ask little, tickets over two years of which the newest are open, the words of
people, a timeline each, blocks, clocks and search. Open ones are ranked by the portal's own rule.
"""

from __future__ import annotations

import argparse
import json
import random
import time

import django

django.setup()

from django.core.management import call_command
from django.db import connection, transaction

from bench.common import say
from bench.words import WORDS, pairs
from portal.accounts.models import Team, User
from portal.kernel import keyset
from requests_app.priority.policies import active_policy
from requests_app.priority.services import rank_batch
from requests_app.search.services import _MAKE
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import OPEN, QUEUED
from requests_app.triage.filters import read_filters

PASSWORD = "a bench is no secret"
FILLED = (
    "requests_app_ticket",
    "requests_app_line",
    "requests_app_comment",
    "requests_app_searchdocument",
    "requests_app_clocksummary",
    "portal_event",
)
PEOPLE = """
INSERT INTO portal_team (slug, name, time_zone, created_at)
SELECT 'team-' || n, 'Team ' || n, (ARRAY['UTC', 'Pacific/Auckland', 'America/Sao_Paulo', 'Asia/Kathmandu'])[1 + n %% 4],
       now() - interval '2 years'
FROM generate_series(1, %(teams)s) AS n;
INSERT INTO portal_user (username, password, first_name, last_name, email, is_staff, is_active, is_superuser, date_joined,
                         staff_role, time_zone, ssh_public_keys, single_keys)
SELECT 'person-' || n, '!', '', '', '', false, true, false, now(), '', '', '', true
FROM generate_series(1, %(teams)s * 3) AS n;
INSERT INTO portal_membership (user_id, team_id, role)
SELECT u.id, t.id, CASE WHEN u.n %% 3 = 0 THEN 'lead' ELSE 'member' END
FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM portal_user WHERE username LIKE 'person-%%') AS u
JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM portal_team) AS t ON t.n = 1 + (u.n - 1) / 3;
"""

TICKETS = """
CREATE TEMP TABLE asked AS
SELECT n, n > %(tickets)s - %(open)s AS is_open, random() AS fate, 1 + floor(power(random(), 3) * %(teams)s)::int AS team_n,
       1 + floor(random() * 3)::int AS person_n, 1 + floor(power(random(), 1.5) * %(versions)s)::int AS version_n,
       now() - (%(tickets)s - n) * (interval '730 days' / %(tickets)s) AS at,
       %(words)s::text[] AS words
FROM generate_series(1, %(tickets)s) AS n;
INSERT INTO requests_app_ticket (id, status, version, team_id, requester_id, offering_version_id, title, answers, note,
  submitted_at, state_since, question, reason_code, reason, nearest_yes, decided_at, rank_facts, rank_explanation, waiting_since,
  paused_seconds, blocked_since, blocked_people, idle_gpus, submission_hash)
SELECT a.n, s.status, 1 + a.n %% 3, t.id, u.id, v.id,
  initcap(a.words[1 + floor(random() * 50)::int]) || ' ' || a.words[1 + floor(random() * 50)::int] || ' ' || a.words[1 + floor(random() * 50)::int],
  jsonb_build_object('details', a.words[1 + floor(random() * 50)::int] || ' ' || a.words[1 + floor(random() * 50)::int]),
  '', a.at, CASE WHEN a.is_open THEN a.at ELSE a.at + interval '1 day' * 5 * random() END,
  CASE WHEN s.status = 'waiting' THEN 'Which one?' ELSE '' END, CASE WHEN s.status = 'declined' THEN 'capacity' ELSE '' END,
  CASE WHEN s.status = 'declined' THEN 'All are taken.' ELSE '' END, '',
  CASE WHEN a.is_open THEN NULL ELSE a.at + interval '3 hours' END, '{}', '{}',
  CASE WHEN s.status = 'waiting' THEN a.at + interval '1 hour' END, 0,
  CASE WHEN a.is_open AND a.n %% 12 = 0 THEN a.at END, CASE WHEN a.is_open AND a.n %% 12 = 0 THEN 1 + a.n %% 9 ELSE 0 END,
  CASE WHEN a.is_open AND a.n %% 12 = 0 THEN 8 * (a.n %% 8) ELSE 0 END, ''
FROM asked AS a
JOIN LATERAL (SELECT CASE WHEN a.is_open THEN
    CASE WHEN a.fate < 0.75 THEN 'submitted' WHEN a.fate < 0.83 THEN 'waiting' WHEN a.fate < 0.9 THEN 'approved'
         WHEN a.fate < 0.94 THEN 'ready' ELSE 'returned' END
  ELSE CASE WHEN a.fate < 0.8 THEN 'closed' WHEN a.fate < 0.95 THEN 'declined' ELSE 'withdrawn' END END AS status) AS s ON true
JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM portal_team) AS t ON t.n = a.team_n
JOIN (SELECT user_id AS id, team_id, row_number() OVER (PARTITION BY team_id ORDER BY user_id) AS n FROM portal_membership) AS u
  ON u.team_id = t.id AND u.n = a.person_n
JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM requests_app_offeringversion) AS v ON v.n = a.version_n;
"""

AROUND = """
INSERT INTO requests_app_line (ticket_id, position, what, sku, label, unit, asked_qty, granted_qty, verdict, reason_code, reason, order_ref)
SELECT id, 1, 'item', '', title, '', 1, CASE WHEN status IN ('closed', 'ready', 'approved') THEN 1 WHEN status = 'declined' THEN 0 END,
  CASE WHEN status IN ('closed', 'ready', 'approved') THEN 'granted' WHEN status = 'declined' THEN 'declined' ELSE 'pending' END, '', '', ''
FROM requests_app_ticket;
INSERT INTO requests_app_blockinterval (ticket_id, started_at, people, idle_gpus, resource, what, claimed_by_id, claimed_at, end_source)
SELECT id, blocked_since, blocked_people, idle_gpus, '', 'Nothing runs.', requester_id, blocked_since, ''
FROM requests_app_ticket WHERE blocked_since IS NOT NULL;
INSERT INTO requests_app_comment (ticket_id, author_id, body, internal, at)
SELECT id, requester_id, 'We looked at the ' || title || ' again; ' || repeat('it is as before. ', 1 + (id %% 6)::int), false, submitted_at + interval '1 hour'
FROM requests_app_ticket WHERE id %% 2 = 0;
INSERT INTO portal_event (name, subject, actor_id, payload, at)
SELECT 'ticket.submitted', 'T-' || id, requester_id, jsonb_build_object('title', title), submitted_at FROM requests_app_ticket;
INSERT INTO portal_event (name, subject, actor_id, payload, at)
SELECT CASE status WHEN 'declined' THEN 'ticket.declined' WHEN 'withdrawn' THEN 'ticket.withdrawn' ELSE 'ticket.approved' END,
  'T-' || id, NULL, '{}', state_since FROM requests_app_ticket WHERE decided_at IS NOT NULL;
INSERT INTO requests_app_clocksummary (ticket_id, offering_id, answer_seconds, decision_seconds, delivered_at, delivery_seconds, derived_at)
SELECT t.id, v.offering_id, 600 + t.id %% 20000, 1200 + t.id %% 40000, CASE WHEN t.status = 'closed' THEN t.state_since END,
  CASE WHEN t.status = 'closed' THEN extract(epoch FROM t.state_since - t.submitted_at)::bigint END, now()
FROM requests_app_ticket AS t JOIN requests_app_offeringversion AS v ON v.id = t.offering_version_id WHERE t.decided_at IS NOT NULL;
"""


def main() -> None:
    """Fill the database of PORTAL_DATABASE_URL and print what to measure, as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tickets", type=int, default=1_000_000)
    parser.add_argument("--open", type=int, default=50_000)
    parser.add_argument("--teams", type=int, default=2_000)
    asked = parser.parse_args()
    began = time.monotonic()
    call_command("migrate", verbosity=0)
    call_command("load_catalogue", verbosity=0)
    triager = User.objects.create_user("bench", password=PASSWORD, staff_role="triager")
    fill(asked.tickets, asked.open, asked.teams)
    took = time.monotonic() - began
    say(f"  {asked.tickets:,} tickets in {took:.0f} s")
    print(json.dumps({"fill_seconds": took, **targets(triager), **rerank_a_team()}))


def fill(tickets: int, still_open: int, teams: int) -> None:
    """People, tickets and what is around them, without indexes at first, as pg_restore does."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute("SELECT setseed(0.42)")
        cursor.execute("SELECT count(*) FROM requests_app_offeringversion")
        given = {
            "tickets": tickets,
            "open": still_open,
            "teams": teams,
            "versions": cursor.fetchone()[0],
            "words": WORDS,
        }
        cursor.execute(
            "SET session_replication_role = replica"
        )  # foreign keys are right by how rows are made
        _give_defaults(cursor)
        indexes = _drop_indexes(cursor)
        for script in (PEOPLE, TICKETS, AROUND):
            for statement in filter(str.strip, script.split(";\n")):
                cursor.execute(statement, given)
        cursor.execute("CREATE INDEX bench_line ON requests_app_line (ticket_id)")
        cursor.execute("CREATE INDEX bench_comment ON requests_app_comment (ticket_id)")
        cursor.execute(_MAKE.format(which="true"))
        cursor.execute("DROP INDEX bench_line")
        cursor.execute("DROP INDEX bench_comment")
        for index in indexes:
            cursor.execute(index)
        cursor.execute("SELECT setval(pg_get_serial_sequence('requests_app_ticket', 'id'), %s)", [tickets])
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("ANALYZE")
    _rank()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")


def _give_defaults(cursor: object) -> None:
    """Django gives defaults, the database none: columns that this file doesn't name are empty, nought or false."""
    cursor.execute(  # type: ignore[attr-defined]
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
        " AND table_name = ANY(%s) AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'",
        [[*FILLED, "requests_app_blockinterval", "portal_user"]],
    )
    plain = {"boolean": "false", "jsonb": "'{}'", "text": "''", "character varying": "''", "ARRAY": "'{}'"}
    for relation, column, kind in cursor.fetchall():  # type: ignore[attr-defined]
        value = plain.get(kind, "0" if "int" in kind or "numeric" in kind else "")
        if value:
            cursor.execute(f'ALTER TABLE "{relation}" ALTER COLUMN "{column}" SET DEFAULT {value}')  # type: ignore[attr-defined]


def _drop_indexes(cursor: object) -> list[str]:
    """Indexes that no constraint needs; the statements that make them again."""
    cursor.execute(  # type: ignore[attr-defined]
        "SELECT i.indexname, i.indexdef FROM pg_indexes AS i LEFT JOIN pg_constraint AS c ON c.conname = i.indexname"
        " WHERE i.tablename = ANY(%s) AND c.oid IS NULL AND i.schemaname = 'public'",
        [list(FILLED)],
    )
    rows = cursor.fetchall()  # type: ignore[attr-defined]
    for name, _ in rows:
        cursor.execute(f'DROP INDEX "{name}"')  # type: ignore[attr-defined]
    return [definition for _, definition in rows]


def _rank() -> None:
    """Every open ticket, by the rule itself."""
    numbers = list(Ticket.objects.filter(status__in=OPEN).order_by("pk").values_list("pk", flat=True))
    constants = active_policy().constants
    for start in range(0, len(numbers), 5000):
        with transaction.atomic():
            rank_batch(numbers[start : start + 5000], constants)


def targets(triager: User) -> dict[str, object]:
    """What the bench looks at: a page deep in the queue, open tickets, words, and tickets to decide."""
    queued = Ticket.objects.filter(status__in=QUEUED, rank_key__isnull=False).order_by("rank_key", "id")
    count = queued.count()
    deep = min(499 * 50, max(0, count - 60))
    scope = read_filters({"view": "queue"}).scope
    chosen = random.Random(7)
    refs = [f"T-{number}" for number in queued.values_list("pk", flat=True)]
    chosen.shuffle(refs)
    decide = queued.filter(status="submitted").values_list("pk", "version")[count // 4 : count // 4 + 120]
    return {
        "cursor": keyset._write(queued[deep], ["rank_key", "id"], scope, backwards=False),
        "page": deep // 50 + 1,
        "queued": count,
        "tickets": refs[:100],
        "decide": [[f"T-{number}", version] for number, version in decide],
        "words": pairs(60),
        "user": triager.username,
        "password": PASSWORD,
    }


def rerank_a_team() -> dict[str, object]:
    """How long the largest team's open tickets take, all in one transaction."""
    team = Team.objects.get(slug="team-1")
    numbers = list(Ticket.objects.filter(team=team, status__in=QUEUED).values_list("pk", flat=True))
    took = []
    for _ in range(3):
        began = time.perf_counter()
        with transaction.atomic():
            rank_batch(numbers, active_policy().constants)
        took.append(time.perf_counter() - began)
    return {"rerank": took, "rerank_tickets": len(numbers)}


if __name__ == "__main__":
    main()
