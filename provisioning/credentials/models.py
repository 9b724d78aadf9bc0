"""What is kept of a credential? Its name, what it is for, where it may be used, and its value, sealed."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models

from portal.accounts.access import Action
from portal.accounts.models import User
from portal.kernel.clock import now
from provisioning.fleet.models import Node


class Kind(models.TextChoices):
    """What a credential is, and so how Ansible is handed it."""

    SSH_KEY = "ssh_key", "SSH private key"
    BECOME = "become", "Password for becoming root"
    VAULT = "vault", "Password of an Ansible vault"
    ENVIRONMENT = "environment", "Variable of the environment"
    VARIABLE = "variable", "Variable of the playbook"


class CredentialQuerySet(models.QuerySet["Credential"]):
    """Credentials by who may know of them."""

    def visible_to(self, user: User | AnonymousUser) -> CredentialQuerySet:
        """All for operators, none for anybody else; nobody ever sees a value."""
        if isinstance(user, User) and user.is_active and user.can(Action.OPERATE_FLEET):
            return self
        return self.none()


class Credential(models.Model):
    """One secret. `playbooks` and `nodes` say where it may be used; empty means everywhere.

    The key that seals `sealed` is made for this id, which is there before the row is.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=60, unique=True)
    kind = models.CharField(max_length=12, choices=Kind)
    variable = models.CharField(max_length=100, default="", blank=True)
    sealed = models.TextField()
    playbooks = models.JSONField(default=list, blank=True)
    nodes: models.ManyToManyField[Node, models.Model] = models.ManyToManyField(
        Node, blank=True, related_name="credentials"
    )
    created_at = models.DateTimeField(default=now)
    changed_at = models.DateTimeField(default=now)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    used_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Credential]] = CredentialQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=models.Q(kind__in=Kind.values), name="credential_kind_known")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
