from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('provisioning', '0003_jobs_drained_nodes'),
    ]

    operations = [
        migrations.RemoveIndex(model_name='jobevent', name='job_event_task'),
        migrations.AddIndex(
            model_name='jobevent',
            index=models.Index(condition=models.Q(('kind__in', ['play', 'stats', 'task'])), fields=['job', 'attempt', 'counter'], name='job_event_head'),
        ),
    ]
