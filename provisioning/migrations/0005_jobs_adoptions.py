
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('provisioning', '0004_jobs_heads_of_a_log'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='adoptions',
            field=models.PositiveSmallIntegerField(default=0),
        ),
    ]
