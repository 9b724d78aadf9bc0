"""Names of queues say kind and site; a worker of long work does nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.fleet.sites import racks_in_two, read_site, say_sites
from provisioning.workers.routing import (
    Work,
    is_for_jobs,
    queue_of,
    queues_of,
    read_sites,
    site_of,
    worker_of,
)

SITES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?", fullmatch=True)
COLUMN = 30
"""Characters that the name of a job's queue may have."""


def test_small_installation_has_the_queues_it_always_had() -> None:
    assert queues_of([Work.JOBS], read_sites([])) == ("jobs",)
    assert queues_of([Work.DOORBELL, Work.LOOKS], read_sites([])) == ("doorbell", "looks")


def test_worker_of_two_sites_serves_the_queues_of_both_and_the_doorbell_has_no_site() -> None:
    assert queues_of([Work.JOBS], read_sites(["north", "-"])) == ("jobs", "jobs.north")
    assert queues_of([Work.DOORBELL, Work.LOOKS], ["north", "south"]) == (
        *("doorbell", "looks.north", "looks.south"),
    )


def test_short_work_in_a_worker_of_jobs_is_refused() -> None:
    with pytest.raises(ValueError, match="doorbell and looks would wait"):
        queues_of([Work.JOBS, Work.LOOKS, Work.DOORBELL], [""])


@given(SITES, st.sampled_from([Work.JOBS, Work.LOOKS]))
def test_queue_tells_its_site_and_fits_its_column(site: str, work: Work) -> None:
    queue = queue_of(work, site)
    assert site_of(queue) == site == read_site(site)
    assert len(queue) <= COLUMN
    assert is_for_jobs(queue) is (work == Work.JOBS)


@given(st.text(max_size=30))
def test_what_is_no_site_is_refused_with_what_would_do(text: str) -> None:
    if re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?", text) is None:
        with pytest.raises(ValueError, match="small letters, digits, hyphens"):
            read_site(text)


def test_sites_are_said_for_people() -> None:
    assert say_sites({"north"}) == "north"
    assert say_sites({"south", "", "north"}) == "north, south and the site without a name"


def test_rack_at_two_sites_is_found_and_nodes_without_a_rack_are_none() -> None:
    places = [("r1", "north", "a"), ("r1", "north", "b"), ("", "north", "c"), ("", "south", "d")]
    assert racks_in_two(places) == {}
    assert racks_in_two([*places, ("r1", "south", "e")]) == {"r1": ("a", "e")}


def test_process_of_a_pool_is_its_workers() -> None:
    assert worker_of("host:12/77") == "host:12"
