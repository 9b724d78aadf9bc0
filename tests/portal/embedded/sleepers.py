"""A supervisor with small programs in the place of the portal's, to be run as a process and killed.

`python -m tests.portal.embedded.sleepers VAR_DIR` prints `ready URL` and then waits as `manage.py up` does.
"""

import signal
import socket
import sys
from pathlib import Path

from portal.config import Config
from portal.embedded import processes
from portal.embedded.processes import Stage
from portal.embedded.programs import BEAT, WEB, WORKERS, Program
from portal.embedded.supervisor import Supervisor

QUICK = (Stage(signal.SIGTERM, 1.0), processes.KILL)
ANSWERS = """
import http.server, socket, sys
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()
server = http.server.HTTPServer(("", 0), Healthy, bind_and_activate=False)
server.socket = socket.socket(fileno=int(sys.argv[1]))
server.serve_forever()
"""

# A worker that started a process in a session of its own, as ansible-runner does, and waits for it.
WORKER = "setsid sleep 300 & echo $! > {var}/stray.pid; echo working; wait"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(300)"


def config(var_dir: Path, port: int | None = None) -> Config:
    """Servers are given, so that none is started."""
    return Config(var_dir=var_dir, port=port, database_url="postgres://given", broker_url="redis://given")


def sleepers(chosen: Config, *, listener: socket.socket) -> list[Program]:
    web = (sys.executable, "-c", ANSWERS, str(listener.fileno()))
    return [
        Program("jobs", WORKERS, ("sh", "-c", WORKER.format(var=chosen.var_dir)), stages=QUICK),
        Program("beat", BEAT, ("sh", "-c", 'trap "echo bye; exit 0" TERM; sleep 300 & wait'), stages=QUICK),
        Program("web", WEB, web, stages=QUICK, descriptors=(listener.fileno(),)),
    ]


def deaf(chosen: Config, *, listener: socket.socket) -> list[Program]:
    stages = (Stage(signal.SIGTERM, 0.3), processes.KILL)
    return [Program("web", WEB, (sys.executable, "-c", STUBBORN), stages=stages)]


def main(var_dir: Path) -> None:
    with Supervisor(config(var_dir), screen=sys.stderr, portal_programs=sleepers, setup=None) as running:
        running.wait_until_healthy(20)
        print("ready", running.base_url, flush=True)  # noqa: T201 - the test waits for it
        running.wait()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(0)
