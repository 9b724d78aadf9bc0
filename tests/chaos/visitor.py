"""What do people see meanwhile? Somebody asks the web server all the time, and stops jobs through it."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.evidence import Evidence, Fault

ASK_EVERY = 1.5
ANSWER_WITHIN = 10.0
FIRST_ANSWER_WITHIN = 180.0
OK, ERROR = 200, 500
LINGERS = 10.0
"""Seconds after the first good answer in which a connection of the pool that was cut off may still show."""
WEB_KILLED, WEB_FROZEN = "web killed", "web frozen"
EVERYTHING = "everything restarted"
OF_WEB = (WEB_KILLED, WEB_FROZEN)
OF_DATABASE = (
    "database killed",
    "database frozen",
    "database restarted",
    "connections to the database cut",
    EVERYTHING,
)


@dataclass(frozen=True)
class Answer:
    """One question and what came of it: `status` 0 is no answer at all."""

    path: str
    at: float
    seconds: float
    status: int


@dataclass
class Visitor:
    """Asks as an operator does: pages by a session, the API by a token. `refs` tells the jobs that there are."""

    port: Callable[[], int]
    session: str
    token: str
    evidence: Evidence
    newest: Callable[[], str] = lambda: ""
    answers: list[Answer] = field(default_factory=list)
    _done: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to ask, once the web server answers; RuntimeError when it does not."""
        deadline = time.monotonic() + FIRST_ANSWER_WITHIN
        while self._ask("/healthz", "GET", "")[0] != OK:
            if time.monotonic() > deadline:
                raise RuntimeError("the web server did not start")
            time.sleep(ASK_EVERY)
        self._thread = threading.Thread(target=self._run, daemon=True, name="visitor")
        self._thread.start()

    def end(self) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join(60)

    def _run(self) -> None:
        paths = itertools.cycle(("/healthz", "/jobs/", "/api/v1/jobs?state=active", "newest"))
        while not self._done.wait(ASK_EVERY):
            path = next(paths)
            ref = self.newest()
            if path != "newest":
                self.ask(path)
            elif ref:
                self.ask(f"/jobs/{ref}/")

    def ask(self, path: str, *, method: str = "GET", body: str = "") -> tuple[int, str]:
        """The status, 0 without an answer, and the text."""
        begun = time.time()
        status, text = self._ask(path, method, body)
        self.answers.append(Answer(path, begun, time.time() - begun, status))
        return status, text

    def _ask(self, path: str, method: str, body: str) -> tuple[int, str]:
        line = http.client.HTTPConnection("127.0.0.1", self.port(), timeout=ANSWER_WITHIN)
        headers = {"Cookie": f"sessionid={self.session}"}
        if path.startswith("/api/"):
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            line.request(method, path, body=body or None, headers=headers)
            answer = line.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            line.close()

    def cancel(self, ref: str, *, force: bool = False) -> bool:
        """Stop a job as an operator does; a promise that was given has to be kept."""
        body = json.dumps({"reason": "chaos", "force": force})
        status, _ = self.ask(f"/api/v1/jobs/{ref}/cancel", method="POST", body=body)
        if 200 <= status < 300:
            self.evidence.cancelled.add(ref)
        return 200 <= status < 300

    def disagreements(self, states: Mapping[int, str]) -> list[str]:
        """What the web server says otherwise than the database, when everything is at rest."""
        found = []
        for job_id, status in states.items():
            answered, text = self.ask(f"/api/v1/jobs/J-{job_id}")
            said = json.loads(text).get("state") if answered == 200 else f"answer {answered}"
            if said != status:
                found.append(f"J-{job_id} is {status}, and the web server says {said}")
        return found


def recovered(fault: Fault, answers: Sequence[Answer]) -> float:
    """When the web server gave its first good answer that was asked for after the end of a fault; infinite when it gave none."""
    over = fault.at if fault.until is None else fault.until
    good = (each.at + each.seconds for each in answers if each.at >= over and each.status == OK)
    return min(good, default=float("inf"))


def unexplained(answers: Sequence[Answer], evidence: Evidence) -> list[str]:
    """Answers that no fault explains: an error while web and database were well, or none while the web server was."""
    spans = [
        (fault.name in OF_WEB, fault.at, recovered(fault, answers) + LINGERS)
        for fault in evidence.faults
        if fault.name in OF_WEB + OF_DATABASE
    ]
    found = []
    for answer in answers:
        end = answer.at + answer.seconds
        excused = any(
            begin <= end and answer.at <= over and (answer.status == 0 or not of_web)
            for of_web, begin, over in spans
        )
        if (answer.status == 0 or answer.status >= ERROR) and not excused:
            what = f"answered {answer.status}" if answer.status else "did not answer"
            asked = time.strftime("%H:%M:%S", time.localtime(answer.at))
            found.append(
                f"{answer.path}, asked at {asked}, {what} in {answer.seconds:.1f} s, and nothing was wrong"
            )
    return found
