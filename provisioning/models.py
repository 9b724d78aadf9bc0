"""Django finds the models of this house here; nobody else imports this."""

from provisioning.credentials.models import Credential
from provisioning.fleet.models import Cluster, Hold, Node, Rack, Reservation, Sku
from provisioning.jobs.models import HostResult, Job, JobEvent, NodeHostKey, NodeLease
from provisioning.orders.models import Assignment, Order, StepRun
from provisioning.schedules.models import Schedule, ScheduleRun
from provisioning.validation.models import Baseline, ClusterReport, Finding, Measurement, Report
from provisioning.workers.models import Worker

__all__ = [
    "Assignment",
    "Baseline",
    "Cluster",
    "ClusterReport",
    "Credential",
    "Finding",
    "Hold",
    "HostResult",
    "Job",
    "JobEvent",
    "Measurement",
    "Node",
    "NodeHostKey",
    "NodeLease",
    "Order",
    "Rack",
    "Report",
    "Reservation",
    "Schedule",
    "ScheduleRun",
    "Sku",
    "StepRun",
    "Worker",
]
