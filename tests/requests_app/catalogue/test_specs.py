"""What answers ask for: lines, a title, the draft of an order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.kernel.errors import Invalid
from provisioning.contracts import StorageMount
from requests_app.catalogue.answers import clean_answers
from requests_app.catalogue.questions import questions_of
from requests_app.catalogue.specs import cluster_of, lines_of, order_draft, title_of
from tests.requests_app.catalogue.strategies import LIVE, SHIPPED, TODAY, answers_to, good_answers


def made(slug: str, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    content = dict(SHIPPED[slug])
    raw = {**good_answers(slug), **more}
    return content, clean_answers(questions_of(content), raw, live=LIVE, today=TODAY)


def test_a_cluster_asks_for_nodes_of_a_kind_with_a_day() -> None:
    content, answers = made("gpu-cluster", wanted_by="2026-12-10", lease_days=21)
    (line,) = lines_of(content, answers, live=LIVE)
    assert (line.what, line.sku, line.quantity, line.unit, line.days) == (
        "nodes",
        "h100-sxm5-80g",
        4,
        "nodes",
        21,
    )
    assert str(line.wanted_by) == "2026-12-10"


def test_an_open_lease_has_no_days() -> None:
    content, answers = made("gpu-cluster", lease="open")
    assert lines_of(content, answers, live=LIVE)[0].days is None
    assert order_draft(content, answers).lease_days is None


def test_a_resize_takes_the_kind_of_its_cluster() -> None:
    content, answers = made("cluster-resize")
    (line,) = lines_of(content, answers, live=LIVE)
    assert (line.sku, line.quantity, cluster_of(content, answers)) == ("h100-sxm5-80g", 2, "C-7")


def test_a_boost_ends_and_a_raise_does_not() -> None:
    boost, raised = lines_of(*made("quota-boost"), live=LIVE)[0], lines_of(*made("quota-raise"), live=LIVE)[0]
    assert (boost.what, boost.quantity, boost.days) == ("gpus", 16, 7)
    assert (raised.what, raised.quantity, raised.days) == ("gpus", 16, None)


def test_an_item_has_the_quantity_its_offering_names() -> None:
    storage, unblock = (
        lines_of(*made("shared-storage"), live=LIVE)[0],
        lines_of(*made("unblock"), live=LIVE)[0],
    )
    assert (storage.quantity, storage.unit) == (20, "TB")
    assert (unblock.quantity, unblock.unit) == (1, "")


def test_an_order_knows_name_driver_and_mounts() -> None:
    mount = {"source": "nas-1:/exports/vision", "path": "/data/vision", "fstype": "nfs4"}
    draft = order_draft(
        *made(
            "gpu-cluster", driver="pinned", driver_version="570.172.08", storage=True, storage_mounts=[mount]
        )
    )
    assert (draft.cluster_name, draft.driver_version) == ("train", "570.172.08")
    assert draft.storage_mounts == (
        StorageMount(path="/data/vision", source="nas-1:/exports/vision", fstype="nfs4"),
    )


def test_a_bundle_makes_a_line_of_each_part_that_is_asked() -> None:
    lines = lines_of(*made("project-start"), live=LIVE)
    assert [(line.fulfilment, line.quantity, line.unit) for line in lines] == [
        ("cluster_build", 5, "nodes"),
        ("quota_raise", 16, "GPUs"),
        ("manual", 20, "TB"),
        ("manual", 1, ""),
        ("manual", 1, ""),
    ]
    assert [line.label for line in lines[2:]] == [
        "Shared storage",
        "Dataset access",
        "Observability dashboard",
    ]
    draft = order_draft({"slug": "x", "fulfilment": lines[0].fulfilment}, lines[0].asks)
    assert (draft.cluster_name, draft.lease_days) == ("segment", 90)


def test_a_bundle_leaves_out_what_was_not_asked() -> None:
    content, answers = made("project-start")
    few = {**answers, "storage": False, "data": False, "dashboard": False, "more_quota": False}
    assert [line.fulfilment for line in lines_of(content, few, live=LIVE)] == ["cluster_build"]


def test_what_builds_nothing_has_no_order() -> None:
    with pytest.raises(ValueError, match="builds no cluster"):
        order_draft(*made("unblock"))
    with pytest.raises(ValueError, match="resizes no cluster"):
        cluster_of(*made("unblock"))


def test_the_title_says_what_is_asked() -> None:
    assert title_of(*made("gpu-cluster")) == "4 nodes × h100-sxm5-80g as train"
    assert title_of(*made("quota-boost")) == "16 GPUs of boost on h100-sxm5-80g for 7 days"


def test_a_title_is_no_template() -> None:
    content, answers = made("unblock", headline="{details} {{ 7*7 }} {0.__class__}")
    assert title_of(content, answers) == "Unblock: {details} {{ 7*7 }} {0.__class__}"


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_all_good_answers_make_lines_and_a_title_that_fit_the_tables(data: st.DataObject) -> None:
    content = SHIPPED[data.draw(st.sampled_from(list(SHIPPED)))]
    questions = questions_of(content)
    raw = {**good_answers(content["slug"]), **data.draw(answers_to(questions))}
    try:
        answers = clean_answers(questions, raw, live=LIVE, today=TODAY)
    except Invalid:
        return
    assert 1 <= len(title_of(content, answers)) <= 200
    for line in lines_of(content, answers, live=LIVE):
        assert line.quantity >= 1
        assert len(line.label) <= 200
        assert len(line.unit) <= 20
