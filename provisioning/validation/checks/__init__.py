"""Which checks are there? Importing this package registers them all, by topic."""

from provisioning.validation.checks import (
    diagnostics,
    fabric,
    host,
    identity,
    kernel_log,
    memory,
    network,
    performance,
)
from provisioning.validation.checks.registry import CHECKS, Check, run_checks

__all__ = [
    "CHECKS",
    "Check",
    "diagnostics",
    "fabric",
    "host",
    "identity",
    "kernel_log",
    "memory",
    "network",
    "performance",
    "run_checks",
]
