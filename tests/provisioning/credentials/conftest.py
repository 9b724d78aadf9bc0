"""A credential for a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from portal.accounts.models import User
from provisioning.credentials.models import Credential
from provisioning.credentials.services import set_credential
from tests.provisioning.jobs.conftest import make_nodes, queue, sku, tiny

__all__ = ["make_nodes", "queue", "sku", "tiny"]


def a_key() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


@pytest.fixture
def keep(operator: User) -> Callable[..., Credential]:
    def make(
        name: str = "site", kind: str = "become", value: str = "hunter2-hunter2", **more: Any
    ) -> Credential:
        return set_credential(name=name, kind=kind, value=value, by=operator, **more)

    return make
