"""Bring the lines of older tickets to what they are, and let the database keep every verdict for ever."""

from django.db import migrations

FILL = """
UPDATE requests_app_line AS line SET
    fulfilment = version.fulfilment,
    asks = ticket.answers,
    decided_at = ticket.decided_at,
    decided_by_id = ticket.decided_by_id,
    days = CASE WHEN line.until IS NULL THEN NULL
           ELSE GREATEST(0, round(extract(epoch FROM line.until - ticket.submitted_at) / 86400)::int) END,
    delivered_qty = CASE WHEN line.verdict = 'granted' AND ticket.status IN ('ready', 'closed')
                    THEN line.granted_qty ELSE 0 END,
    delivered_at = CASE WHEN line.verdict = 'granted' AND ticket.status IN ('ready', 'closed')
                   THEN ticket.state_since END,
    ordered_qty = CASE WHEN line.verdict = 'granted' AND ticket.status = 'provisioning'
                  THEN line.granted_qty ELSE 0 END
FROM requests_app_ticket AS ticket
JOIN requests_app_offeringversion AS version ON version.id = ticket.offering_version_id
WHERE ticket.id = line.ticket_id;

INSERT INTO requests_app_linedecision
    (line_id, round, verdict, granted_qty, reason_code, reason, decided_at, decided_by_id)
SELECT line.id, 1, line.verdict, line.granted_qty, line.reason_code, line.reason,
       COALESCE(ticket.decided_at, ticket.state_since), ticket.decided_by_id
FROM requests_app_line AS line JOIN requests_app_ticket AS ticket ON ticket.id = line.ticket_id
WHERE line.verdict <> 'pending';

UPDATE requests_app_line AS line SET
    verdict = 'pending', granted_qty = NULL, round = 2, returned_at = ticket.state_since,
    decided_at = NULL, decided_by_id = NULL
FROM requests_app_ticket AS ticket
WHERE ticket.id = line.ticket_id AND ticket.status = 'returned' AND line.verdict = 'granted';
"""

KEEP = """
CREATE FUNCTION requests_app_line_verdict_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.verdict = 'pending' THEN
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.verdict, NEW.granted_qty, NEW.round, NEW.decided_at, NEW.decided_by_id)
           IS NOT DISTINCT FROM (OLD.verdict, OLD.granted_qty, OLD.round, OLD.decided_at, OLD.decided_by_id) THEN
            RETURN NEW;
        END IF;
        IF NEW.verdict = 'pending' AND NEW.round = OLD.round + 1 AND EXISTS (
            SELECT 1 FROM requests_app_linedecision AS kept
            WHERE kept.line_id = OLD.id AND kept.round = OLD.round
              AND kept.verdict = OLD.verdict AND kept.granted_qty = OLD.granted_qty
        ) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'the verdict on a line is kept for ever; decide it in another round';
END $$;
CREATE TRIGGER requests_app_line_verdict_is_kept BEFORE UPDATE OR DELETE ON requests_app_line
    FOR EACH ROW EXECUTE FUNCTION requests_app_line_verdict_is_kept();

CREATE FUNCTION requests_app_linedecision_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a decision on a line is never changed or deleted';
END $$;
CREATE TRIGGER requests_app_linedecision_is_final BEFORE UPDATE OR DELETE ON requests_app_linedecision
    FOR EACH ROW EXECUTE FUNCTION requests_app_linedecision_is_final();
"""

UNKEEP = """
DROP TRIGGER requests_app_linedecision_is_final ON requests_app_linedecision;
DROP FUNCTION requests_app_linedecision_is_final();
DROP TRIGGER requests_app_line_verdict_is_kept ON requests_app_line;
DROP FUNCTION requests_app_line_verdict_is_kept();
"""


class Migration(migrations.Migration):
    dependencies = [("requests_app", "0009_negotiation_lines_and_offers")]

    operations = [
        migrations.RunSQL(sql=FILL, reverse_sql=migrations.RunSQL.noop),
        migrations.RunSQL(sql=KEEP, reverse_sql=UNKEEP),
    ]
