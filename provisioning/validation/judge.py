"""What does the portal ask of the rules? Judge a node, a sweep of nodes, a rerun, or a cluster's collective."""

from provisioning.validation.collective import judge_collective
from provisioning.validation.node_judge import judge_node
from provisioning.validation.rerun_judge import judge_confirmation, settle
from provisioning.validation.sweep_judge import judge_sweep

__all__ = ["judge_collective", "judge_confirmation", "judge_node", "judge_sweep", "settle"]
