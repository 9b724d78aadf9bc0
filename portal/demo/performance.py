"""The demonstration from first to last: start the portal, set the stage, and play the main job through its API."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from portal.config import Config
from portal.demo import cast, morning, stage, story, telling
from portal.demo.cast import Login
from portal.embedded.supervisor import Supervisor

PLAYED = "played.json"
SET_OUT = "morning.done"
PRICES = ((cast.SKU, Decimal("2.40")),)
"""Invented, so that costs have numbers; a deployment states its own."""


class Performance:
    """One run of the demonstration on the var folder of `config`."""

    def __init__(self, config: Config) -> None:
        self.config = config if config.gpu_hour_prices else replace(config, gpu_hour_prices=PRICES)
        self.folder = config.var_dir.absolute() / "demo"
        self.logins: dict[str, Login] = {}

    def supervisor(self) -> Supervisor:
        """The portal, with stage and cast set before its first page is served."""
        return Supervisor(self.config, screen=sys.stdout, before_ready=self._set)

    def _set(self, running: Supervisor) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stage.prepare(self.folder)
        self.logins = cast.prepare(self.folder)
        running.log.say(
            f"a fleet of {stage.NODES} simulated nodes stands; {stage.SLOW_NODE} is slow, secretly"
        )

    def play(self, running: Supervisor) -> story.Outcome:
        """The main job; a name of its own makes every performance file a request of its own."""
        running.wait_until_healthy()
        number = self._count()
        outcome = story.run(running.base_url, self.logins, name=f"train-{number}", say=running.log.say)
        self._kept(number)
        return outcome

    def set_out(self, running: Supervisor) -> None:
        """What else lies on the desk that day, once for a var folder."""
        done = self.folder / SET_OUT
        if not done.is_file():
            morning.set_out(running.base_url, self.logins, say=running.log.say)
            done.touch()

    def was_played(self) -> bool:
        """True when this var folder has seen the main job end well."""
        return (self.folder / PLAYED).is_file()

    def _count(self) -> int:
        path = self.folder / PLAYED
        return 1 + (json.loads(path.read_text(encoding="utf-8")) if path.is_file() else 0)

    def _kept(self, number: int) -> None:
        (self.folder / PLAYED).write_text(json.dumps(number), encoding="utf-8")

    def tell(self, running: Supervisor, lines: list[str]) -> None:
        """Say every line in the common log."""
        for line in lines:
            running.log.say(line)


def write_figures(path: Path, outcome: story.Outcome) -> None:
    """The figures of a run as JSON."""
    path.write_text(json.dumps(telling.figures(outcome), indent=1), encoding="utf-8")
