"""What the web server answers is excused only while it or its database was away."""

from __future__ import annotations

import pytest

from tests.chaos.evidence import Evidence, Fault
from tests.chaos.visitor import WEB_KILLED, Answer, recovered, unexplained


def answer(at: float, status: int, *, seconds: float = 0.1) -> Answer:
    return Answer("/jobs/", at, seconds, status)


def after(*faults: Fault) -> Evidence:
    return Evidence(faults=list(faults))


@pytest.mark.parametrize("status", [0, 500, 503])
def test_bad_answer_without_a_fault_is_found(status: int) -> None:
    assert len(unexplained([answer(100, 200), answer(101, status)], after())) == 1


@pytest.mark.parametrize("status", [200, 302, 403, 404])
def test_good_answer_is_none(status: int) -> None:
    assert unexplained([answer(100, status)], after()) == []


def test_no_answer_is_excused_from_the_fault_to_the_first_good_answer_after_it() -> None:
    fault = Fault(WEB_KILLED, at=100, until=103)
    answers = [answer(99, 200), answer(101, 0, seconds=10), answer(112, 0, seconds=5), answer(118, 200)]
    assert unexplained(answers, after(fault)) == []
    assert recovered(fault, answers) == pytest.approx(118.1)
    assert len(unexplained([*answers, answer(140, 0)], after(fault))) == 1


def test_error_is_not_excused_by_a_web_server_that_was_away() -> None:
    fault = Fault(WEB_KILLED, at=100, until=103)
    assert len(unexplained([answer(101, 500), answer(104, 200)], after(fault))) == 1


def test_error_is_excused_while_the_database_is_away() -> None:
    fault = Fault("database killed", at=100, until=103)
    assert unexplained([answer(101, 500), answer(104, 200), answer(105, 500)], after(fault)) == []


def test_web_server_that_never_came_back_has_not_recovered() -> None:
    assert recovered(Fault(WEB_KILLED, at=100, until=103), [answer(99, 200)]) == float("inf")
