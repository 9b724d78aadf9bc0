"""Is the noise the same for the same seed, small, and never an outlier?"""

from __future__ import annotations

import re
import statistics

from hypothesis import given
from hypothesis import strategies as st

from provisioning.simulator import noise


@given(st.integers(), st.text(), st.integers())
def test_noise_stays_within_its_limit(seed: int, name: str, run: int) -> None:
    assert abs(noise.gauss(seed, name, run, sd=0.01)) <= 0.025


def test_noise_has_the_spread_that_was_asked_for() -> None:
    values = [noise.gauss(7, "gpu-001", number, sd=0.01) for number in range(4000)]

    assert 0.0090 < statistics.stdev(values) < 0.0105
    assert abs(statistics.mean(values)) < 0.0006


def test_noise_of_neighbours_is_unrelated() -> None:
    pairs = [
        (noise.gauss(1, "a", number, sd=1.0), noise.gauss(1, "a", number + 1, sd=1.0))
        for number in range(3000)
    ]

    assert abs(statistics.correlation(*zip(*pairs, strict=True))) < 0.05


def test_noise_is_the_same_in_every_process() -> None:
    assert noise.bits(7, "gpu-001", "serial", 3) == 6556796211803398389


def test_uuid_looks_like_a_random_one() -> None:
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", noise.uuid(7, "x")
    )
