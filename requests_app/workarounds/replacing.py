"""How does a project come to be, move on, and make workarounds unnecessary? Each change one move, one event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, LostRace, Refused
from portal.kernel.moves import move
from portal.ledger.services import record
from requests_app import events
from requests_app.catalogue.offering_shape import PILLARS
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.workarounds import said
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.projects import Milestone, Replacement
from requests_app.workarounds.states import LIVE, REPLACEMENT, ReplacementAction

DESK = "grant workarounds and plan what replaces them"

MOST_MILESTONES = 12
USUAL = ((30, "The need is understood and the way chosen"), (60, "It runs for one team"))
LAST = "It has replaced the workarounds"
NEEDS_REASON = frozenset({ReplacementAction.DROP, ReplacementAction.TAKE_UP})


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is planned: empty fields take what is usual."""

    title: str = ""
    owner: User | None = None
    target_on: date | None = None
    milestones: tuple[tuple[str, date], ...] = ()


def create_replacement(*, pillar: str, class_key: str, plan: Plan, summary: str, by: User) -> Replacement:
    """A new project for a class of workarounds; Conflict when one of that class lives already."""
    only_triagers(by, DESK)
    today = now().date()
    target = said.target_of(
        "target_on", plan.target_on or today + timedelta(days=90), since=today, today=today
    )
    if pillar not in PILLARS:
        raise Invalid({"pillar": [f"Choose one of: {', '.join(PILLARS)}."]})
    with transaction.atomic():
        living = Replacement.objects.live().select_for_update().filter(class_key=class_key).first()
        if living is not None:
            raise Conflict(
                f"{living.ref} is the project of this class already.", data={"replacement": living.ref}
            )
        made = Replacement.objects.create(
            title=said.line_of("title", plan.title or f"Instead of: {summary}"[:200]),
            pillar=pillar,
            class_key=class_key,
            owner=infra_person("project_owner", plan.owner or by),
            target_on=target,
            first_target_on=target,
            created_by=by,
            status=REPLACEMENT.initial,
        )
        _plan_milestones(made, plan.milestones or _usual(today, target))
        payload = {"title": made.title, "target_on": target.isoformat(), "owner": made.owner.username}
        record(events.REPLACEMENT_CREATED, subject=made.ref, payload=payload, by=by)
    return made


def _usual(today: date, target: date) -> tuple[tuple[str, date], ...]:
    whole = (target - today).days
    early = tuple((name, today + timedelta(days=max(1, whole * days // 90))) for days, name in USUAL)
    return (*early, (LAST, target))


def _plan_milestones(project: Replacement, milestones: Sequence[tuple[str, date]]) -> None:
    if len(milestones) > MOST_MILESTONES:
        raise Invalid({"milestones": [f"At most {MOST_MILESTONES}."]})
    Milestone.objects.bulk_create(
        Milestone(replacement=project, position=place, name=said.line_of("milestones", name), due_on=due)
        for place, (name, due) in enumerate(milestones, 1)
    )


def want(project: Replacement, *, ticket: Ticket, by: User | None) -> None:
    """Say that a ticket waits for a project; twice is once."""
    if project.tickets.filter(pk=ticket.pk).exists():
        return
    project.tickets.add(ticket)
    payload = {
        "team": ticket.team.slug,
        "replacement": project.ref,
        "title": project.title,
        "target_on": project.target_on.isoformat(),
        "owner": project.owner.username,
    }
    record(events.REPLACEMENT_WANTED, subject=ticket.ref, payload=payload, by=by)


@transaction.atomic
def make_project(*, class_key: str, plan: Plan, by: User) -> Replacement:
    """One project for every open workaround of a class that has none; joins the one of that class that lives."""
    only_triagers(by, DESK)
    rows = Workaround.objects.still_open().select_for_update(of=("self",)).filter(class_key=class_key)
    found = list(rows.select_related("ticket__team").order_by("id"))
    if not found:
        raise Refused("No workaround of this class is open.", code="nothing-to-replace")
    project = Replacement.objects.live().filter(class_key=class_key).first()
    if project is None:
        first = found[0]
        project = create_replacement(
            pillar=first.pillar, class_key=class_key, plan=plan, summary=first.summary, by=by
        )
    for workaround in found:
        current = workaround.replacement
        if current is None or not current.is_live:
            Workaround.objects.filter(pk=workaround.pk).update(replacement=project)
            want(project, ticket=workaround.ticket, by=by)
    return project


@transaction.atomic
def move_replacement(
    *, replacement: Replacement, version: int, action: str, reason: str = "", by: User
) -> Replacement:
    """Plan, start, finish, drop or take up again; dropping and taking up say why. Finishing ends the workarounds."""
    only_triagers(by, DESK)
    if action not in {str(each) for each in ReplacementAction}:
        raise Invalid({"action": [f"Choose one of: {', '.join(ReplacementAction)}."]})
    step = ReplacementAction(action)
    reason = said.text_of("reason", reason, needed=step in NEEDS_REASON)
    _same(replacement, version)
    finished = step is ReplacementAction.FINISH
    extra = {"reason": reason, "done_at": now() if finished else None}
    _check_alone(replacement, step)
    move(replacement, step, machine=REPLACEMENT, extra=extra)
    payload = {"title": replacement.title, "state": replacement.status, "reason": reason}
    record(events.REPLACEMENT_MOVED, subject=replacement.ref, payload=payload, by=by)
    for ticket in replacement.tickets.select_related("team"):
        more = {"replacement": replacement.ref, "team": ticket.team.slug}
        record(events.REPLACEMENT_MOVED, subject=ticket.ref, payload={**payload, **more}, by=by)
    return replacement


def _check_alone(replacement: Replacement, step: ReplacementAction) -> None:
    if step is not ReplacementAction.TAKE_UP:
        return
    other = Replacement.objects.live().filter(class_key=replacement.class_key).first()
    if other is not None:
        raise Conflict(f"{other.ref} has taken its place.", data={"replacement": other.ref})


@transaction.atomic
def retarget(
    *, replacement: Replacement, version: int, target_on: date, reason: str, by: User
) -> Replacement:
    """Give a project another target, with a reason; the first one stays what it is measured by."""
    only_triagers(by, DESK)
    reason = said.text_of("reason", reason)
    began = replacement.created_at.date()
    target_on = said.target_of("target_on", target_on, since=began, today=now().date())
    was = replacement.target_on
    changed = Replacement.objects.filter(pk=replacement.pk, version=version, status__in=LIVE).update(
        target_on=target_on, version=version + 1
    )
    if not changed:
        raise _stale(replacement)
    replacement.refresh_from_db()
    payload = {"was": was.isoformat(), "target_on": target_on.isoformat(), "reason": reason}
    for subject in (replacement.ref, *(ticket.ref for ticket in replacement.tickets.all())):
        record(
            events.REPLACEMENT_RETARGETED,
            subject=subject,
            payload={**payload, "replacement": replacement.ref, "title": replacement.title},
            by=by,
        )
    return replacement


@transaction.atomic
def finish_milestone(*, replacement: Replacement, position: int, by: User) -> Milestone:
    """A step is done; saying it twice changes nothing."""
    only_triagers(by, DESK)
    milestone = replacement.milestones.select_for_update().filter(position=position).first()
    if milestone is None:
        raise Invalid({"position": [f"{replacement.ref} has no such milestone."]})
    if milestone.done_at is None:
        milestone.done_at, milestone.done_by = now(), by
        milestone.save(update_fields=["done_at", "done_by"])
        payload = {"title": replacement.title, "milestone": milestone.name}
        record(events.REPLACEMENT_MILESTONE, subject=replacement.ref, payload=payload, by=by)
    return milestone


def infra_person(name: str, person: User) -> User:
    """Somebody of infra, who can answer for it."""
    if not person.is_infra:
        raise Invalid({name: ["Somebody of the infra team answers for it."]})
    return person


def _same(replacement: Replacement, version: int) -> None:
    if replacement.version != version:
        raise _stale(replacement)


def _stale(replacement: Replacement) -> LostRace:
    fresh = Replacement.objects.get(pk=replacement.pk)
    return LostRace(
        f"{fresh.ref} has changed since you opened it: it is {fresh.status} now. Look again.",
        data={"replacement": fresh.ref, "now": fresh.status, "version": fresh.version},
    )
