"""Which faults are there, and how often does each come?"""

from __future__ import annotations

import signal

from tests.chaos import faults, message_faults, node_faults, postman, server_faults, visitor
from tests.chaos.faults import Deed

FAULTS: dict[str, tuple[int, Deed]] = {
    "worker killed": (6, faults.kill_worker),
    "worker frozen": (5, faults.freeze_worker),
    "worker told to go": (3, faults.end_worker),
    "sweeping worker killed": (3, faults.kill_one("bell", 4)),
    "sweeping worker frozen": (2, faults.freeze_one("bell", 2)),
    "beat killed": (2, faults.kill_one("beat", 10)),
    "beat frozen": (2, faults.freeze_one("beat", 3)),
    visitor.WEB_KILLED: (3, faults.kill_one("web", 4)),
    visitor.WEB_FROZEN: (2, faults.freeze_one("web", 1)),
    "child killed": (7, faults.kill_child),
    "child frozen": (5, faults.freeze_child),
    "playbook killed": (5, faults.kill_playbook),
    "keeper killed": (4, faults.kill_keeper),
    "broker killed": (3, server_faults.kill("broker", 8)),
    "broker frozen": (3, server_faults.freeze("broker", 2)),
    "messages doubled": (4, message_faults.post(postman.DOUBLE)),
    "messages in another order": (4, message_faults.post(postman.SHUFFLE)),
    "messages late": (3, message_faults.post(postman.DELAY)),
    "messages lost": (3, message_faults.post(postman.LOSE)),
    "bells rung for everything": (4, message_faults.ring_often),
    "database killed": (2, server_faults.kill("database", 4)),
    "database restarted": (2, server_faults.kill("database", 4, signal.SIGINT)),
    "database frozen": (2, server_faults.freeze("database", 1.5)),
    "connections to the database cut": (3, server_faults.cut_database),
    visitor.EVERYTHING: (1, server_faults.restart_everything),
    "job cancelled": (6, faults.cancel),
    "job stopped by force": (4, faults.force),
    "node rebooted": (4, node_faults.reboot),
    "node silent": (3, node_faults.silence),
    "node refuses": (3, node_faults.refuse),
    "node frozen": (3, node_faults.freeze),
    "node drops its sessions": (5, node_faults.drop),
    faults.DISK_FULL: (2, faults.fill_disk),
}
"""How often each comes, in parts of their sum."""
