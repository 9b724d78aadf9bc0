"""What does the pattern page show? Made-up things of every kind, so that each part can be looked at alone."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from django import forms
from django.utils.safestring import SafeString

from portal.kernel.clock import now
from portal.shell.charts import PALETTE as COLOURS
from portal.shell.charts import chart_figure
from portal.shell.tones import Tone

STATES = (
    "submitted",
    "waiting",
    "approved",
    "provisioning",
    "ready",
    "returned",
    "declined",
    "withdrawn",
    "closed",
    "fit",
    "degraded",
    "unfit",
    "not_measured",
    "pass",
    "warn",
    "fail",
    "not_attempted",
    "free",
    "reserved",
    "in_use",
    "draining",
    "quarantined",
    "retired",
    "queued",
    "running",
    "succeeded",
    "failed",
    "cancelled",
    "unreachable",
)

PALETTE = {
    "Ground and ink": ["ground", "surface", "sunken", "ink", "ink-soft", "line", "line-firm"],
    "What can be pressed": ["accent", "accent-strong", "accent-soft", "focus", "danger-strong"],
    "Rail and flag": ["rail", "rail-raised", "rail-ink", "rail-soft", "flag"],
    "Tones": [
        f"{tone}{part}"
        for tone in ("ok", "warn", "danger", "info", "active", "quiet")
        for part in ("", "-soft", "-firm")
    ],
}


class ExampleForm(forms.Form):
    """One field of each kind."""

    use_required_attribute = False
    name = forms.CharField(
        label="Name of the cluster", max_length=31, help_text="Small letters, digits, hyphens."
    )
    nodes = forms.IntegerField(label="Nodes", min_value=1, max_value=64, initial=4, help_text="8 GPUs each.")
    sku = forms.ChoiceField(
        label="Kind of node", choices=[("h100", "H100 SXM5 80 GB"), ("b200", "B200 SXM 180 GB")]
    )
    until = forms.DateField(
        label="Needed until",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    size = forms.ChoiceField(
        label="Where the data is",
        choices=[("a", "Shared storage"), ("b", "Object store")],
        widget=forms.RadioSelect,
    )
    blocked = forms.BooleanField(label="We are blocked until then", required=False)
    why = forms.CharField(label="Why", widget=forms.Textarea(attrs={"rows": 3}))


def examples() -> dict[str, Any]:
    """The context of the pattern page."""
    at = now()
    wrong = ExampleForm(data={"name": "Vision!", "nodes": "400", "sku": "h100", "size": "a"})
    wrong.is_valid()
    return {
        "palette": PALETTE,
        "tones": [tone.value for tone in Tone],
        "states": STATES,
        "form": wrong,
        "steps": _steps(),
        "entries": _entries(at),
        "terms": _terms(),
        "largest": 103.2,
        "lease_end": at + timedelta(days=41),
        "minutes_ago": at - timedelta(minutes=12),
        "racks": _racks(),
        "chart": _chart(),
        "command": "ssh vision@gpu-001\nsrun --partition=vision --gpus=8 --pty bash",
    }


def _chart() -> SafeString:
    rows = [
        (f"gpu-{number:03}", value)
        for number, value in enumerate((674, 671, 676, 632, 673, 670, 675, 672), 1)
    ]
    spec = {
        "data": {"values": [{"node": n, "value": v, "is": "slow" if v < 650 else "peer"} for n, v in rows]},
        "mark": {"type": "bar", "cornerRadiusEnd": 3},
        "height": {"step": 20},
        "encoding": {
            "y": {"field": "node", "type": "nominal", "title": None},
            "x": {"field": "value", "type": "quantitative", "title": "bf16 GEMM, TFLOP/s per GPU"},
            "color": {
                "field": "is",
                "type": "nominal",
                "title": None,
                "scale": {"domain": ["peer", "slow"], "range": [COLOURS["1"], COLOURS["danger"]]},
            },
        },
    }
    return chart_figure(
        spec,
        title="GEMM by node",
        description="gpu-004 gives 632 TFLOP/s; its peers give 670 to 676.",
        columns=("Node", "TFLOP/s"),
        rows=rows,
    )


def _steps() -> list[SimpleNamespace]:
    rows = [
        ("Nodes reserved", "done", 4, 4, ""),
        ("Provision", "done", 4, 4, "J-12"),
        ("Validate nodes", "running", 3, 4, "J-13"),
        ("Join", "waiting", 0, 4, ""),
        ("Validate the cluster", "waiting", 0, 0, ""),
    ]
    return [
        SimpleNamespace(
            title=title,
            state=state,
            done=done,
            total=total,
            job_ref=ref,
            job_url=f"/jobs/{ref}/" if ref else "",
        )
        for title, state, done, total, ref in rows
    ]


def _entries(at: Any) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(
            at=at - timedelta(hours=3),
            actor=None,
            title="Request filed",
            tone="info",
            body="4 nodes of H100 SXM5.",
        ),
        SimpleNamespace(
            at=at - timedelta(hours=2), actor=None, title="Comment", comment="We can start with three nodes."
        ),
        SimpleNamespace(
            at=at - timedelta(minutes=50),
            actor=None,
            title="gpu-007 replaced by gpu-011",
            tone="warn",
            body="gemm_bf16 was 6.3 % below its peers: 632 against 674 TFLOP/s.",
        ),
        SimpleNamespace(at=at - timedelta(minutes=2), actor=None, title="Cluster ready", tone="ok", body=""),
    ]


def _terms() -> list[SimpleNamespace]:
    rows = [
        ("Impact: 2 358 GPU-hours a day", 268.9),
        ("Workaround holds", -41.7),
        ("Relief takes 2 hours of work", -24.0),
        ("Against the usual ask", -100.0),
    ]
    return [SimpleNamespace(title=title, hours=hours) for title, hours in rows]


def _racks() -> list[SimpleNamespace]:
    row = ["in_use"] * 5 + ["free", "free", "quarantined"]
    return [
        SimpleNamespace(
            name=f"rack-{rack}",
            nodes=[
                SimpleNamespace(name=f"gpu-{rack * 8 + i:03}", short=f"{rack * 8 + i}", status=s)
                for i, s in enumerate(row)
            ],
        )
        for rack in (1, 2)
    ]
