"""Pages of jobs: the list, one job with its nodes and its live log, and what operators may do with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.access import Action
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.pages import is_fragment, render_page
from provisioning.fleet.listing import node_by_name
from provisioning.jobs import draining, forcing, host_table, log_files, log_view, queries, services, stream
from provisioning.jobs.deciders import only_operators
from provisioning.jobs.host_table import Wanted
from provisioning.jobs.log_filter import read_filter
from provisioning.jobs.models import Job
from provisioning.jobs.outline import hosts_of_task, outline
from provisioning.jobs.playbooks import REGISTRY
from provisioning.jobs.states import REASONS

REPLAYS = (1, 10, 60)
TABS = (("active", "Active"), ("attention", "Needs a look"), ("ended", "Done"), ("", "All"))


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    if text == "":
        return None
    if not text.isdecimal() or len(text) > 15:
        raise Invalid({name: ["Use a whole number."]})
    return int(text)


@require_GET
@login_required
def jobs_list(request: HttpRequest) -> HttpResponse:
    """Jobs by state, newest first, in pages."""
    state, reason = request.GET.get("state", ""), request.GET.get("reason", "")
    jobs = queries.jobs_of(signed_in(request), state=state, reason=reason)
    here = urlencode({"state": state, **({"reason": reason} if reason else {})})
    before = _number(request, "before")
    page = list((jobs if before is None else jobs.filter(pk__lt=before))[: queries.PAGE + 1])
    older = page[queries.PAGE - 1].pk if len(page) > queries.PAGE else None
    context = {
        "rows": queries.rows_for(page[: queries.PAGE]),
        "state": state,
        "reason": reason,
        "reasons": REASONS,
        "tabs": TABS,
        "may_run": signed_in(request).can(Action.RUN_JOBS),
        "older": older,
        "older_url": "" if older is None else f"?{here}&before={older}",
        "newest_url": "" if before is None else f"?{here}",
    }
    return render_page(request, "provisioning/jobs/list.html", context, partial="rows")


@require_GET
@login_required
def job_detail(request: HttpRequest, ref: str) -> HttpResponse:
    """One job; for htmx only what changes while it runs."""
    job = queries.job_by_ref(signed_in(request), ref)
    context = _live(request, job)
    if not is_fragment(request):
        if not job.is_whole:
            context |= _log(request, job)
        book = REGISTRY.get(job.playbook)
        context["title"] = book.title if book is not None else job.playbook
    return render_page(request, "provisioning/jobs/detail.html", context, partial="live")


def _live(request: HttpRequest, job: Job) -> dict[str, Any]:
    seen = queries.seen(job, Wanted.read(request.GET.dict()), trouble_first=True)
    user = signed_in(request)
    return {
        "job": job,
        "hosts": seen.hosts,
        "progress": seen.progress,
        "waves": seen.waves,
        "why": queries.say_why(job),
        "may_run": user.can(Action.RUN_JOBS),
        "may_see_inside": user.is_infra,
        "remaining": seen.hosts.not_ok if job.is_ended else 0,
        "failed": seen.hosts.bad,
        "relaunched": job.relaunches.order_by("-id").first(),
        "attempts": range(1, job.attempt),
    }


def _log(request: HttpRequest, job: Job) -> dict[str, Any]:
    attempt, only = _attempt(request, job), read_filter(request.GET.dict())
    before, after, replay = (_number(request, name) for name in ("before", "after", "replay"))
    if before is not None:
        piece = log_view.piece_before(job, attempt, before, only=only)
    elif replay:
        piece = log_view.nothing_yet(attempt)
    else:
        start = after
        if start is None:
            start = 0 if only else _start(request, job, attempt)
        piece = log_view.piece(job, attempt, start, only=only)
    return {
        "job": job,
        "piece": piece,
        "only": only,
        "replay": replay,
        "speeds": REPLAYS,
        "first_failure": queries.first_failure(job, attempt),
    }


def _start(request: HttpRequest, job: Job, attempt: int) -> int:
    if request.GET.get("end"):
        return log_view.end_of(job, attempt)
    return log_view.start_of(job, attempt, at=_number(request, "at"))


def _attempt(request: HttpRequest, job: Job) -> int:
    wanted = _number(request, "attempt")
    latest = max(job.attempt, 1)
    if wanted is None:
        return latest
    if not 1 <= wanted <= latest:
        raise NotFound(f"{job.ref} has no attempt {wanted}.")
    return wanted


@require_GET
@login_required
def job_log(request: HttpRequest, ref: str) -> HttpResponse:
    """A piece of the log: after `after` or before `before`, of what the filters want."""
    job = queries.job_by_ref(signed_in(request), ref)
    return render_page(request, "provisioning/jobs/log.html", _log(request, job), partial="piece")


@require_GET
@login_required
def job_stream(request: HttpRequest, ref: str) -> HttpResponse:
    """What came after Last-Event-ID, and an end: where no event loop serves (`stream_server.py` does that), pages come back."""
    user = signed_in(request)
    place = stream.begin(user, ref, request.GET.dict(), request.headers.get("Last-Event-ID", ""))
    text = stream.hello() + stream.news(user, place).text
    return HttpResponse(text, content_type=stream.CONTENT_TYPE, headers=stream.HEADERS)


@require_GET
@login_required
def job_outline(request: HttpRequest, ref: str) -> HttpResponse:
    """Plays and tasks of the log; with `head`, how that task went on each node."""
    job = queries.job_by_ref(signed_in(request), ref)
    attempt, head = _attempt(request, job), _number(request, "head")
    context: dict[str, Any] = {"job": job, "attempt": attempt, "head": head}
    if head is None:
        context["plays"] = outline(job, attempt)
    else:
        context["hosts"] = hosts_of_task(job, attempt, head)
    return render_page(request, "provisioning/jobs/outline.html", context, partial="outline")


@require_GET
@login_required
def job_log_text(request: HttpRequest, ref: str) -> StreamingHttpResponse:
    """The whole log as a text file."""
    job = queries.job_by_ref(signed_in(request), ref)
    return _file(log_files.as_text(job), f"{job.ref}.txt", "text/plain; charset=utf-8")


@require_GET
@login_required
def job_log_json(request: HttpRequest, ref: str) -> StreamingHttpResponse:
    """The whole log as JSON lines."""
    job = queries.job_by_ref(signed_in(request), ref)
    return _file(log_files.as_json_lines(job), f"{job.ref}.ndjson", "application/x-ndjson")


@require_GET
@login_required
def job_event_text(request: HttpRequest, ref: str, attempt: int, counter: int) -> HttpResponse:
    """All that one event said."""
    job = queries.job_by_ref(signed_in(request), ref)
    text = log_files.whole_text(job, attempt, counter)
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def _file(parts: Iterator[str], name: str, kind: str) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(parts, content_type=kind, headers=headers)


@require_POST
@login_required
def job_cancel(request: HttpRequest, ref: str) -> HttpResponse:
    """Stop a job; an operator's."""
    job = queries.job_by_ref(signed_in(request), ref)
    job = services.cancel_job(job, reason=request.POST.get("reason", ""), by=signed_in(request))
    messages.success(request, forcing.say_stopped(job))
    return redirect("jobs:detail", job.ref)


@require_http_methods(["GET", "POST"])
@login_required
def job_force(request: HttpRequest, ref: str) -> HttpResponse:
    """Ask what stopping by force means here, then do it; an operator's."""
    user = signed_in(request)
    job = queries.job_by_ref(user, ref)
    only_operators(user)
    complaint = ""
    if request.method == "POST":
        try:
            job = services.force_stop(job, reason=request.POST.get("reason", ""), by=user)
        except Invalid as problem:
            complaint = " ".join(problem.fields["reason"])
    if job.is_ended:
        messages.success(request, forcing.say_stopped(job))
        return redirect("jobs:detail", job.ref)
    context = {
        "job": job,
        "complaint": complaint,
        "longest": services.LONGEST_REASON,
        "heard_at": queries.heard_at(job),
        "sure_at": forcing.sure_at(job),
        "nodes": host_table.count(job),
    }
    status = 422 if complaint else 200
    return render_page(request, "provisioning/jobs/force.html", context, status=status)


@require_POST
@login_required
def job_relaunch(request: HttpRequest, ref: str) -> HttpResponse:
    """Run it again on the nodes that are not ok; an operator's."""
    job = queries.job_by_ref(signed_in(request), ref)
    again = services.relaunch_remaining(job, by=signed_in(request))
    messages.success(request, f"{again.ref} was queued for the nodes of {job.ref} that are not ok.")
    return redirect("jobs:detail", again.ref)


@require_POST
@login_required
def job_resume(request: HttpRequest, ref: str) -> HttpResponse:
    """Go on with a paused job; an operator's."""
    job = queries.job_by_ref(signed_in(request), ref)
    again = request.POST.get("again") == "on"
    services.resume_job(job, again=again, by=signed_in(request))
    messages.success(request, f"{job.ref} goes on.")
    return redirect("jobs:detail", job.ref)


@require_POST
@login_required
def node_quiet(request: HttpRequest, name: str) -> HttpResponse:
    """Declare a draining node quiet; an operator's."""
    node = node_by_name(signed_in(request), name)
    lease = draining.declare_quiet(node.name, reason=request.POST.get("reason", ""), by=signed_in(request))
    messages.success(request, f"{node.name} counts as quiet; {lease.job.ref} holds it no longer.")
    return redirect("nodes:detail", node.name)
