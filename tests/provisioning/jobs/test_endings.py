"""Endings come from what was said of each node, never from an exit code."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.jobs.endings import Fold, conclude, say_counts
from provisioning.jobs.runner_events import RunnerEvent, read_event
from provisioning.jobs.states import FINAL_ENDINGS, Ending, JobAction, Reason

AT = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


def event(kind: str, host: str = "", **more: Any) -> RunnerEvent:
    return RunnerEvent(kind=kind, at=AT, host=host, **{"task": "a task", **more})


def fold(*events: RunnerEvent, hosts: tuple[str, ...] = ("a", "b")) -> Fold:
    found = Fold.of(hosts)
    for counter, each in enumerate(events, start=1):
        found.take(each, counter=counter)
    return found


def endings(found: Fold, *, finished: bool = True) -> dict[str, str]:
    found.settle(finished=finished)
    return {name: host.ending.value for name, host in found.hosts.items()}


def stats(**counts: dict[str, int]) -> RunnerEvent:
    return RunnerEvent(kind="stats", at=AT, stats=counts)


def test_node_that_did_its_tasks_is_ok() -> None:
    found = fold(event("begin", "a"), event("ok", "a"), event("ok", "b"), stats(ok={"a": 1, "b": 1}))
    assert endings(found) == {"a": "ok", "b": "ok"}


def test_node_that_nobody_spoke_of_was_not_attempted() -> None:
    assert endings(fold(event("ok", "a"), stats(ok={"a": 1}))) == {"a": "ok", "b": "not_attempted"}


def test_node_whose_failure_was_ignored_is_ok() -> None:
    found = fold(event("failed", "a", ignored=True), event("ok", "b"), stats(ok={"a": 1, "b": 1}))
    assert endings(found) == {"a": "ok", "b": "ok"}


def test_node_that_was_rescued_is_ok_and_its_failure_is_kept() -> None:
    found = fold(
        event("failed", "a", result={"msg": "no"}), event("begin", "a"), event("ok", "a"), event("ok", "b"),
        stats(ok={"a": 1, "b": 1}, rescued={"a": 1}),
    )  # fmt: skip
    assert endings(found)["a"] == "ok"
    assert found.hosts["a"].first_failure == "no"


def test_node_that_failed_and_was_tidied_up_failed() -> None:
    found = fold(
        event("failed", "a"), event("begin", "a"), event("ok", "a"), stats(ok={"a": 1}, failures={"a": 1})
    )
    assert endings(found)["a"] == "failed"


def test_node_that_could_not_be_reached_is_not_called_failed() -> None:
    found = fold(event("unreachable", "a"), event("ok", "b"), stats(dark={"a": 1}, ok={"b": 1}))
    assert endings(found) == {"a": "unreachable", "b": "ok"}


@pytest.mark.parametrize(
    "said",
    [
        "Shared connection to 10.0.0.3 closed.",
        "Connection to 10.0.0.3 closed by remote host.",
        "client_loop: send disconnect: Broken pipe",
        "Timeout, server 10.0.0.3 not responding.",
        "mux_client_request_session: read from master failed: Broken pipe",
        "Connection reset by 10.0.0.3 port 22",
        "",
    ],
)
def test_node_that_may_have_been_lost_in_the_middle_of_its_first_task_was_cut_off(said: str) -> None:
    message = f"Failed to connect to the host via ssh: {said}"
    assert fold(event("begin", "a"), event("unreachable", "a", result={"msg": message})).cut_off() == ["a"]


@pytest.mark.parametrize(
    "said",
    [
        "ssh: connect to host 10.0.0.3 port 22: Connection refused",
        "ssh: connect to host 10.0.0.3 port 22: Connection timed out",
        "ssh: connect to host 10.0.0.3 port 22: No route to host",
        "ssh: Could not resolve hostname gpu-003: Name or service not known",
        "kex_exchange_identification: Connection closed by remote host\r\nConnection closed by 10.0.0.3 port 22",
        "Connection timed out during banner exchange\r\nConnection to 10.0.0.3 port 22 timed out",
        "Unable to negotiate with 10.0.0.3 port 22: no matching host key type found. Their offer: ssh-rsa",
        "Host key verification failed.",
        "quartermaster@10.0.0.3: Permission denied (publickey).",
        "Received disconnect from 10.0.0.3 port 22:2: Too many authentication failures",
    ],
)
def test_node_that_ssh_never_came_to_was_not_cut_off(said: str) -> None:
    message = f"Failed to connect to the host via ssh: {said}"
    assert fold(event("begin", "a"), event("unreachable", "a", result={"msg": message})).cut_off() == []


def test_node_that_had_done_a_task_was_cut_off_however_it_was_lost() -> None:
    gone = event("unreachable", "a", result={"msg": "ssh: connect to host a port 22: Connection refused"})
    assert fold(event("ok", "a"), event("begin", "a"), gone).cut_off() == ["a"]


def loop(*items: dict[str, Any]) -> dict[str, Any]:
    """What ansible-core says of a task that loops: one result for each item, and a summary without a cause."""
    return {"msg": "One or more items failed", "results": list(items)}


def test_node_whose_task_ran_into_its_time_limit_was_cut_off() -> None:
    late = {"msg": "Timed out after 2 second(s).", "timedout": {"period": 2}}
    assert fold(event("failed", "a", result=late), event("ok", "b")).cut_off() == ["a"]


def test_node_was_cut_off_when_one_item_of_a_loop_ran_into_the_time_limit() -> None:
    late: dict[str, Any] = {"failed": True, "msg": "Timed out after 2 second(s).", "timedout": {"period": 2}}
    assert fold(event("failed", "a", result=loop({"rc": 0}, late))).cut_off() == ["a"]


def test_node_whose_failure_hides_its_words_may_have_been_cut_off() -> None:
    hidden = {"censored": "the output has been hidden due to the fact that 'no_log: true' was specified"}
    assert fold(event("failed", "a", result=hidden), event("ok", "b", result=hidden)).cut_off() == ["a"]


def test_node_that_ssh_came_to_for_one_item_of_a_loop_was_cut_off() -> None:
    never = {"unreachable": True, "msg": "ssh: connect to host 10.0.0.3 port 22: Connection refused"}
    assert fold(event("unreachable", "a", result=loop(never, never))).cut_off() == []
    assert fold(event("unreachable", "a", result=loop({"rc": 0}, never))).cut_off() == ["a"]


def test_node_that_was_at_work_when_it_was_stopped_is_interrupted() -> None:
    assert endings(fold(event("begin", "a")), finished=False) == {"a": "interrupted", "b": "not_attempted"}


def test_node_that_failed_before_the_stop_has_failed() -> None:
    assert endings(fold(event("failed", "a"), event("begin", "b")), finished=False) == {
        "a": "failed",
        "b": "interrupted",
    }


def test_node_that_others_kept_from_the_end_is_not_called_ok() -> None:
    found = fold(
        event("failed", "a"), event("ok", "b"), event("no_hosts_left"), stats(failures={"a": 1}, ok={"b": 1})
    )
    assert endings(found) == {"a": "failed", "b": "interrupted"}


def test_playbook_that_ended_well_without_statistics_is_believed_task_by_task() -> None:
    assert endings(fold(event("ok", "a"), event("failed", "b"))) == {"a": "ok", "b": "failed"}


def test_first_failure_is_the_first_and_says_the_message_and_the_error_output() -> None:
    found = fold(
        event("failed", "a", result={"msg": "non-zero return code", "stderr": "disk full"}),
        event("begin", "a"),
        event("failed", "a", result={"msg": "later"}),
    )
    assert found.hosts["a"].first_failure == "non-zero return code\ndisk full"
    assert found.hosts["a"].failed_at == 1


def test_first_failure_of_a_loop_names_the_item_and_its_own_words() -> None:
    fine = {"rc": 0, "_ansible_item_label": "scratch"}
    bad = {"failed": True, "msg": "no such volume", "_ansible_item_label": "archive"}
    found = fold(event("failed", "a", result=loop(fine, bad)))
    assert found.hosts["a"].first_failure == "archive: no such volume"


@pytest.mark.parametrize("results", ["not a list", [], ["no result"], [{}], None])
def test_loop_whose_results_are_none_is_said_in_its_own_words(results: object) -> None:
    found = fold(event("failed", "a", result={"msg": "One or more items failed", "results": results}))
    assert found.hosts["a"].first_failure == "One or more items failed"
    assert found.cut_off() == []


def test_event_of_a_host_that_is_no_target_changes_nothing() -> None:
    found = fold(event("ok", "localhost"))
    assert set(found.hosts) == {"a", "b"}
    assert found.dirty == set()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["begin", "ok", "failed", "skipped", "unreachable"]), st.sampled_from("abc")
        ),
        max_size=30,
    ),
    st.booleans(),
    st.booleans(),
)
def test_every_node_gets_exactly_one_last_word_whatever_happened(
    said: list[tuple[str, str]], finished: bool, with_stats: bool
) -> None:
    found = fold(*(event(kind, host) for kind, host in said), hosts=("a", "b", "c"))
    if with_stats:
        found.take(stats(ok={"a": 1}), counter=99)
    last = endings(found, finished=finished)
    assert set(last.values()) <= {ending.value for ending in FINAL_ENDINGS}
    spoken_of = {host for _, host in said}
    assert {host for host, ending in last.items() if ending == "not_attempted"} >= {"a", "b", "c"} - spoken_of
    assert sum(found.counts().values()) == 3


@pytest.mark.parametrize(
    ("counts", "action", "reason"),
    [
        ({"ok": 3}, JobAction.SUCCEED, Reason.NONE),
        ({"ok": 2, "failed": 1}, JobAction.SUCCEED_PARTLY, Reason.HOSTS_FAILED),
        ({"ok": 2, "unreachable": 1}, JobAction.SUCCEED_PARTLY, Reason.UNREACHABLE),
        ({"failed": 3}, JobAction.FAIL, Reason.HOSTS_FAILED),
        ({"unreachable": 3}, JobAction.FAIL, Reason.UNREACHABLE),
        ({"interrupted": 2, "not_attempted": 1}, JobAction.FAIL, Reason.STOPPED_EARLY),
        ({"not_attempted": 3}, JobAction.FAIL, Reason.COULD_NOT_START),
        ({"ok": 1, "not_attempted": 1}, JobAction.SUCCEED_PARTLY, Reason.STOPPED_EARLY),
    ],
)
def test_job_ends_by_its_nodes(counts: dict[str, int], action: JobAction, reason: Reason) -> None:
    found = conclude(counts, no_hosts=False)
    assert (found.action, found.reason) == (action, reason)


def test_job_that_matched_no_node_is_no_success() -> None:
    found = conclude({"not_attempted": 2}, no_hosts=True)
    assert (found.action, found.reason) == (JobAction.FAIL, Reason.NO_HOSTS)


def test_job_that_never_began_says_what_the_playbook_said() -> None:
    found = conclude({"not_attempted": 2}, no_hosts=False, last_words="couldn't resolve module/action 'x'")
    assert found.text == "It did not start, because: couldn't resolve module/action 'x'"


def test_counts_are_said_in_words() -> None:
    counts = {"ok": 6, "failed": 1, "unreachable": 2, "not_attempted": 1}
    assert say_counts(counts) == "Of 10 nodes 6 are ok, 1 failed, 2 could not be reached, 1 is not attempted."


def test_node_with_another_host_key_is_told_with_what_helps() -> None:
    said = {"msg": "@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@"}
    found = fold(event("unreachable", "a", result=said), event("failed", "b", result=said))
    assert "`manage.py forget_host_key a`" in found.hosts["a"].first_failure
    assert said["msg"] in found.hosts["a"].first_failure
    assert found.hosts["b"].first_failure == said["msg"]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda x: (
        st.lists(x, max_size=2)
        | st.dictionaries(
            st.sampled_from(["res", "host", "task", "failures", "changed", "duration", "x"]), x, max_size=4
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["event", "event_data", "stdout", "created"]), ODD))
def test_any_event_of_the_runner_is_read_without_a_fuss(raw: dict[str, Any]) -> None:
    found = read_event(raw, default_at=AT)
    assert found.at.tzinfo is not None
    fold(found).settle(finished=True)


def test_ending_of_waiting_is_not_final() -> None:
    assert Ending.WAITING not in FINAL_ENDINGS
