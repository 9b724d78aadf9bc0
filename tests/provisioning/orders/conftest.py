"""What tests of orders ask for."""

from __future__ import annotations

from tests.provisioning.builders import fake_judge

__all__ = ["fake_judge"]
