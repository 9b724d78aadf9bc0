"""How do words get into the search? One statement that makes the documents of any set of tickets anew."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

BATCH = 5_000

_MAKE = """
INSERT INTO requests_app_searchdocument AS document (ticket_id, team_id, public, whole, content_hash)
SELECT made.id, made.team_id, made.public, made.public || setweight(to_tsvector('english', made.internal), 'D'),
       made.content_hash
FROM (
  SELECT ticket.id, ticket.team_id,
    setweight(to_tsvector('simple', 'T-' || ticket.id), 'A')
    || setweight(to_tsvector('english', left(ticket.title, 1000)), 'A')
    || setweight(to_tsvector('english', left(version.title || ' ' || team.name || ' ' || lines.labels, 20000)), 'B')
    || setweight(jsonb_to_tsvector('english', ticket.answers, '["string", "numeric"]'), 'B')
    || setweight(to_tsvector('english', left(concat_ws(' ', ticket.note, ticket.question, ticket.reason, ticket.nearest_yes), 50000)), 'C')
    || setweight(to_tsvector('english', left(said.public, 200000)), 'D') AS public,
    left(said.internal, 200000) AS internal,
    md5(concat_ws('|', version.offering_id, ticket.team_id, ticket.answers::text)) AS content_hash
  FROM requests_app_ticket AS ticket
  JOIN requests_app_offeringversion AS version ON version.id = ticket.offering_version_id
  JOIN portal_team AS team ON team.id = ticket.team_id
  CROSS JOIN LATERAL (
    SELECT coalesce(string_agg(line.label || ' ' || line.sku || ' ' || line.reason, ' '), '') AS labels
    FROM requests_app_line AS line WHERE line.ticket_id = ticket.id
  ) AS lines
  CROSS JOIN LATERAL (
    SELECT coalesce(string_agg(comment.body, ' ' ORDER BY comment.id) FILTER (WHERE NOT comment.internal), '') AS public,
           coalesce(string_agg(comment.body, ' ' ORDER BY comment.id) FILTER (WHERE comment.internal), '') AS internal
    FROM requests_app_comment AS comment WHERE comment.ticket_id = ticket.id
  ) AS said
  WHERE {which}
) AS made
ON CONFLICT (ticket_id) DO UPDATE SET team_id = excluded.team_id, public = excluded.public, whole = excluded.whole,
  content_hash = excluded.content_hash
"""


_LEARN = """
INSERT INTO requests_app_searchword (word)
SELECT DISTINCT word
FROM requests_app_ticket AS ticket, regexp_split_to_table(lower(left(ticket.title, 400)), '[^[:alpha:]]+') AS word
WHERE ticket.id = ANY(%s) AND length(word) BETWEEN 4 AND 40
ORDER BY word
ON CONFLICT DO NOTHING
"""


def index_tickets(numbers: Sequence[int]) -> int:
    """Make the documents of these tickets as they are now; returns how many. Twice changes nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_LEARN, [list(numbers)])
        cursor.execute(_MAKE.format(which="ticket.id = ANY(%s)"), [list(numbers)])
        return int(cursor.rowcount)


def index_missing(limit: int = BATCH) -> int:
    """Make the documents of tickets that have none, such as those of an import; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ticket.id FROM requests_app_ticket AS ticket WHERE NOT EXISTS"
            " (SELECT 1 FROM requests_app_searchdocument AS document WHERE document.ticket_id = ticket.id)"
            " LIMIT %s",
            [limit],
        )
        numbers = [row[0] for row in cursor.fetchall()]
    return index_tickets(numbers) if numbers else 0
