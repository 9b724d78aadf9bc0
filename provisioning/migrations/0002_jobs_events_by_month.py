"""Cut the table of job events into months, so that old ones go by dropping a part and not row by row."""

import django.db.models.deletion
import provisioning.jobs.months
from django.db import migrations, models

CREATE = """
CREATE TABLE provisioning_jobevent (
    job_id bigint NOT NULL REFERENCES provisioning_job (id) DEFERRABLE INITIALLY DEFERRED,
    month date NOT NULL,
    attempt integer NOT NULL CHECK (attempt >= 0),
    counter integer NOT NULL CHECK (counter >= 0),
    kind varchar(16) NOT NULL,
    host varchar(255) NOT NULL,
    play varchar(200) NOT NULL,
    task varchar(200) NOT NULL,
    changed boolean NOT NULL,
    failed boolean NOT NULL,
    text text NOT NULL,
    data jsonb NOT NULL,
    truncated boolean NOT NULL,
    on_disk boolean NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT job_event_key PRIMARY KEY (job_id, attempt, counter, month),
    CONSTRAINT job_event_counts_from_one CHECK (counter >= 1)
) PARTITION BY RANGE (month);
CREATE INDEX job_event_failed ON provisioning_jobevent (job_id, attempt, counter) WHERE failed;
CREATE INDEX job_event_task ON provisioning_jobevent (job_id, attempt, counter) WHERE kind = 'task';
"""

FIRST_PARTS = """
DO $$
DECLARE first date;
BEGIN
    FOR first IN
        SELECT DISTINCT date_trunc('month', made)::date FROM (
            {source}
            SELECT now() AT TIME ZONE 'UTC'
            UNION ALL SELECT now() AT TIME ZONE 'UTC' + interval '1 month'
        ) AS months (made)
    LOOP
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF provisioning_jobevent FOR VALUES FROM (%L) TO (%L)',
            'provisioning_jobevent_' || to_char(first, 'YYYY_MM'), first, first + interval '1 month'
        );
    END LOOP;
END $$;
"""

BEFORE = """
ALTER TABLE provisioning_jobevent RENAME TO provisioning_jobevent_before;
DROP INDEX job_event_failed;
DROP INDEX job_event_task;
"""

OLD_MONTHS = """
            SELECT made.created_at AT TIME ZONE 'UTC' FROM provisioning_job AS made
            WHERE EXISTS (SELECT FROM provisioning_jobevent_before AS said WHERE said.job_id = made.id)
            UNION ALL
"""

AFTER = """
INSERT INTO provisioning_jobevent
    SELECT job_id, date_trunc('month', made.created_at AT TIME ZONE 'UTC')::date, said.attempt, counter, kind, host,
           play, task, changed, failed, text, data, truncated, false, at
    FROM provisioning_jobevent_before AS said JOIN provisioning_job AS made ON made.id = said.job_id;
DROP TABLE provisioning_jobevent_before;
"""

FORWARD = BEFORE + CREATE + FIRST_PARTS.format(source=OLD_MONTHS) + AFTER
FROM_NOTHING = CREATE + FIRST_PARTS.format(source="")


class Migration(migrations.Migration):

    dependencies = [
        ('provisioning', '0001_initial'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(FORWARD, elidable=False)],
            state_operations=[
                migrations.DeleteModel(name='JobEvent'),
                migrations.CreateModel(
                    name='JobEvent',
                    fields=[
                        ('pk', models.CompositePrimaryKey('job_id', 'attempt', 'counter', 'month', blank=True, editable=False, primary_key=True, serialize=False)),
                        ('month', models.DateField(default=provisioning.jobs.months.this_month)),
                        ('attempt', models.PositiveIntegerField()),
                        ('counter', models.PositiveIntegerField()),
                        ('kind', models.CharField(max_length=16)),
                        ('host', models.CharField(blank=True, default='', max_length=255)),
                        ('play', models.CharField(blank=True, default='', max_length=200)),
                        ('task', models.CharField(blank=True, default='', max_length=200)),
                        ('changed', models.BooleanField(default=False)),
                        ('failed', models.BooleanField(default=False)),
                        ('text', models.TextField(blank=True, default='')),
                        ('data', models.JSONField(default=dict)),
                        ('truncated', models.BooleanField(default=False)),
                        ('on_disk', models.BooleanField(default=False)),
                        ('at', models.DateTimeField()),
                        ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='provisioning.job')),
                    ],
                    options={
                        'ordering': ['job', 'attempt', 'counter'],
                        'indexes': [models.Index(condition=models.Q(('failed', True)), fields=['job', 'attempt', 'counter'], name='job_event_failed'), models.Index(condition=models.Q(('kind', 'task')), fields=['job', 'attempt', 'counter'], name='job_event_task')],
                        'constraints': [models.CheckConstraint(condition=models.Q(('counter__gte', 1)), name='job_event_counts_from_one')],
                    },
                ),
            ],
        ),
    ]
