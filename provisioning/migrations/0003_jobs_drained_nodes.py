
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('provisioning', '0002_jobs_events_by_month'),
    ]

    operations = [
        migrations.AddField(
            model_name='nodelease',
            name='drain_because',
            field=models.CharField(blank=True, default='', max_length=200),
        ),
        migrations.AddField(
            model_name='nodelease',
            name='draining_since',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='nodelease',
            name='mark',
            field=models.CharField(blank=True, default='', max_length=60),
        ),
        migrations.AddField(
            model_name='nodelease',
            name='probe_after',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='nodelease',
            name='probe_said',
            field=models.CharField(blank=True, default='', max_length=300),
        ),
        migrations.AddField(
            model_name='nodelease',
            name='probes',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name='nodelease',
            index=models.Index(condition=models.Q(('draining_since__isnull', False), ('released_at__isnull', True)), fields=['probe_after'], name='node_lease_to_look_at'),
        ),
        migrations.AddConstraint(
            model_name='nodelease',
            constraint=models.CheckConstraint(condition=models.Q(('draining_since__isnull', True), ('probe_after__isnull', False), _connector='OR'), name='node_lease_draining_is_looked_at'),
        ),
    ]
