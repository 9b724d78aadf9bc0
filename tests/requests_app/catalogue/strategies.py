"""What may people and clients answer? Good answers, nearly good ones, and nonsense, per question."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from hypothesis import strategies as st

from requests_app.catalogue.offering_files import read_folder
from requests_app.catalogue.questions import Choice, Live, LiveCluster, Question, QuestionType, questions_of

TODAY = date(2026, 11, 30)
LIVE = Live(
    skus=(Choice(value="h100-sxm5-80g", label="H100"), Choice(value="b200-sxm-180g", label="B200")),
    clusters=(LiveCluster(ref="C-7", label="train (4 nodes)", sku="h100-sxm5-80g", nodes=4),),
)
NO_LIVE = Live()
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
SHIPPED = {file.slug: file.content for file in read_folder()}

EVERY_TYPE = questions_of(
    {
        "schema": [
            {"name": "line", "label": "Line", "type": "text", "max_length": 20},
            {"name": "host", "label": "Host", "type": "text", "format": "host-label", "required": False},
            {"name": "long", "label": "Long", "type": "long_text", "required": False},
            {
                "name": "count",
                "label": "Count",
                "type": "integer",
                "min": 2,
                "max": 40,
                "step": 2,
                "unit": "nodes",
            },
            {
                "name": "share",
                "label": "Share",
                "type": "decimal",
                "min": 0.5,
                "max": 9.5,
                "step": 0.5,
                "required": False,
            },
            {
                "name": "days",
                "label": "Days",
                "type": "duration",
                "unit": "days",
                "min": 1,
                "max": 30,
                "default": 7,
            },
            {
                "name": "mode",
                "label": "Mode",
                "type": "choice",
                "default": "plain",
                "choices": [{"value": "plain", "label": "Plain"}, {"value": "other", "label": "Other"}],
            },
            {
                "name": "why",
                "label": "Why",
                "type": "text",
                "show_if": {"question": "mode", "equals": "other"},
            },
            {
                "name": "parts",
                "label": "Parts",
                "type": "multi_choice",
                "required": False,
                "choices": [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}],
            },
            {"name": "day", "label": "Day", "type": "date", "required": False, "within_days": 60},
            {"name": "keys_wanted", "label": "Keys?", "type": "boolean", "default": False},
            {
                "name": "keys",
                "label": "Keys",
                "type": "ssh_keys",
                "show_if": {"question": "keys_wanted", "equals": True},
            },
            {"name": "mounts", "label": "Mounts", "type": "storage_mounts", "required": False},
            {"name": "sku", "label": "SKU", "type": "sku"},
            {"name": "cluster", "label": "Cluster", "type": "team_cluster", "required": False},
        ]
    }
)

_words = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
_plain = st.text("abcdefghij- 1_", min_size=1, max_size=30)
_whole = st.one_of(st.integers(-3, 60), st.sampled_from([2**31, 10**12, -(10**12)]))
_odd_lines = st.text("abc/:@.-=", min_size=1, max_size=40)
_mount = st.fixed_dictionaries(
    {
        "source": st.sampled_from(
            ["nas-1:/exports/vision", "10.0.0.1@tcp:/fs", "evil;rm", "nas:/a/../b", "-x:/a"]
        ),
        "path": st.sampled_from(["/data/vision", "/mnt/a", "/etc", "/data/../etc", "/scratch"]),
        "fstype": st.sampled_from(["nfs4", "nfs", "lustre", "ext4"]),
    }
)
_days = st.integers(-5, 400).map(lambda number: (TODAY + timedelta(days=number)).isoformat())


_good_texts = st.sampled_from(["train", "a-1", "570.172.08", "https://git.example/vision/model", "/data/x"])
_texts = st.one_of(_good_texts, _plain, _words)
_decimals = st.one_of(st.sampled_from([0.5, 1.0, 2.5, 0.25, 9.5, 10.0, 0.01]), st.floats(-5, 6000, width=32))
_keys = st.lists(
    st.one_of(st.sampled_from([KEY, f"{KEY} me@host", f"command=x {KEY}"]), _odd_lines), max_size=3
)
_BY_TYPE: dict[QuestionType, st.SearchStrategy[Any]] = {
    QuestionType.TEXT: _texts,
    QuestionType.LONG_TEXT: _texts,
    QuestionType.INTEGER: _whole,
    QuestionType.DURATION: _whole,
    QuestionType.DECIMAL: _decimals,
    QuestionType.DATE: st.one_of(
        _days, st.sampled_from(["2026-02-30", "20261201", "tomorrow", "2026-W50-1"])
    ),
    QuestionType.BOOLEAN: st.booleans(),
    QuestionType.SSH_KEYS: _keys,
    QuestionType.STORAGE_MOUNTS: st.lists(_mount, max_size=3),
}


def answer_to(question: Question) -> st.SearchStrategy[Any]:
    """Values that a form can hold for `question`, good and bad ones."""
    if question.type in _BY_TYPE:
        return _BY_TYPE[question.type]
    known = st.sampled_from([*(each.value for each in question.options(LIVE)), "nonsense"])
    return st.lists(known, max_size=4) if question.type is QuestionType.MULTI_CHOICE else known


def answers_to(questions: tuple[Question, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Answers to some of the questions."""
    return st.fixed_dictionaries({}, optional={each.name: answer_to(each) for each in questions})


def good_answers(slug: str) -> dict[str, Any]:
    """Answers to a shipped offering that are accepted."""
    return dict(_GOOD[slug])


_GOOD: dict[str, dict[str, Any]] = {
    "gpu-cluster": {"purpose": "Training.", "sku": "h100-sxm5-80g", "nodes": 4, "cluster_name": "train"},
    "cluster-resize": {"cluster": "C-7", "nodes": 2},
    "quota-raise": {"sku": "h100-sxm5-80g", "gpus": 16, "purpose": "A second model."},
    "quota-boost": {"sku": "h100-sxm5-80g", "gpus": 16, "days": 7},
    "unblock": {"headline": "Jobs hang", "details": "Since noon.", "area": "compute"},
    "shared-storage": {"purpose": "Data.", "size_tb": 20, "speed": "training"},
    "observability-dashboard": {"headline": "Where is time lost?", "sources": ["gpu"]},
    "ci-runner-pool": {"repository": "https://git.example/vision/model", "sku": "h100-sxm5-80g"},
    "dataset-access": {"dataset": "Images", "origin": "here", "personal": "none"},
    "project-start": {
        "project": "Segmentation",
        "purpose": "A new model.",
        "cluster_sku": "h100-sxm5-80g",
        "nodes": 5,
        "cluster_name": "segment",
        "more_quota": True,
        "quota_sku": "h100-sxm5-80g",
        "gpus": 16,
        "storage": True,
        "size_tb": 20,
        "data": True,
        "dataset": "Images",
        "dashboard": True,
        "headline": "Where is time lost?",
    },
}
