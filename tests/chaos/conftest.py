"""Nodes and a playbook as the tests of jobs have them."""

from tests.provisioning.jobs.conftest import make_nodes, queue, sku, tiny

__all__ = ["make_nodes", "queue", "sku", "tiny"]
