"""What follows what? The one table: event name -> reactions, each idempotent and run at least once."""

from __future__ import annotations

from portal.notify.kinds import KINDS

RANK = "requests_app.reactions.rank_ticket"
AFFECTED = "requests_app.priority.reactions.rank_affected"
LANE = "requests_app.priority.reactions.leave_lane"
WORKAROUND = "requests_app.workarounds.reactions.after_order"

REACTIONS: dict[str, tuple[str, ...]] = {
    "ticket.submitted": ("requests_app.reactions.rank_ticket", "requests_app.reactions.apply_policies"),
    "ticket.answered": ("requests_app.reactions.rank_ticket", "requests_app.reactions.apply_policies"),
    "ticket.returned": ("requests_app.reactions.rank_ticket",),
    "ticket.reopened": ("requests_app.reactions.rank_ticket",),
    "ticket.undone": ("requests_app.reactions.rank_ticket",),
    "ticket.absorbed": (RANK,),
    **{f"workaround.{what}": (RANK,) for what in ("started", "failed", "ended", "stuck", "proper")},
    **{f"replacement.{what}": (RANK,) for what in ("moved", "retargeted")},
    **{f"block.{what}": (AFFECTED,) for what in ("opened", "amended", "found", "person_spoke", "measured")},
    "ticket.relieved": (AFFECTED,),
    **{f"offer.{what}": (RANK,) for what in ("accepted", "countered", "lapsed", "asked", "withdrawn")},
    "line.reopened": (RANK,),
    **{f"commitment.{what}": (RANK,) for what in ("confirmed", "dropped")},
    **{f"ticket.{what}": (LANE,) for what in ("withdrawn", "declined", "delivered", "closed", "merged")},
    "order.placed": ("provisioning.orders.reactions.start_order",),
    "job.finished": (
        "provisioning.orders.reactions.advance_after_job",
        "provisioning.schedules.reactions.judge_sweep",
    ),
    "fleet.imported": ("provisioning.jobs.reactions.follow_imported",),
    "order.ready": ("requests_app.reactions.deliver_ticket", WORKAROUND),
    "order.done": (WORKAROUND,),
    "order.failed": ("requests_app.reactions.return_ticket", WORKAROUND),
    "order.cancelled": ("requests_app.reactions.return_ticket", WORKAROUND),
    "order.released": ("requests_app.reactions.free_quota", WORKAROUND),
}

_CLOCKED = (
    *("ticket.submitted", "ticket.answered", "ticket.returned", "ticket.reopened", "ticket.relieved"),
    *("ticket.asked_back", "ticket.commented", "ticket.approved", "ticket.declined", "ticket.delivered"),
    *("ticket.withdrawn", "ticket.closed", "ticket.undone", "ticket.merged", "block.opened"),
    *(
        f"offer.{what}"
        for what in ("proposed", "accepted", "countered", "lapsed", "asked", "answered", "withdrawn")
    ),
    *(f"promise.{what}" for what in ("made", "moved", "kept", "cancelled")),
)
for _name in _CLOCKED:  # whatever else follows, the clocks of the ticket are read anew
    REACTIONS[_name] = (*REACTIONS.get(_name, ()), "requests_app.clocks.reactions.follow")
for _name in ("ticket.relieved", "ticket.closed"):
    REACTIONS[_name] = (*REACTIONS[_name], "requests_app.outcome.reactions.compare")

_SAYING = (
    *("ticket.submitted", "ticket.answered", "ticket.commented", "ticket.asked_back"),
    *("ticket.comment_edited", "ticket.comment_hidden"),
)
_DECIDING = ("ticket.approved", "ticket.declined", "ticket.delivered", "ticket.undone")
for _name in (*_SAYING, *_DECIDING):  # the words of the ticket have changed
    REACTIONS[_name] = (*REACTIONS.get(_name, ()), "requests_app.search.reactions.index_ticket")
for _name in (
    "ticket.answered",
    "ticket.commented",
    "ticket.returned",
):  # who snoozed it until then wants to know
    REACTIONS[_name] = (*REACTIONS.get(_name, ()), "requests_app.reactions.wake_ticket")

NOBODY: frozenset[str] = frozenset(
    {
        # Read on timelines and by the audit; what follows them comes with notifications.
        *("team.created", "member.added", "member.removed", "member.changed"),
        *("token.issued", "token.revoked", "profile.changed", "password.changed"),
        *(
            "notify.preferences_changed",
            "notify.address_tried_again",
            "notify.message_retried",
            "notify.chat_set",
        ),
        *("notify.address_bounced", "notify.mail_quarantined", "notify.message_dead"),
        *("session.started", "session.ended", "token.leaked"),
        *("ticket.file_added", "ticket.file_removed"),
        *("ticket.ranked", "ticket.taken", "ticket.started", "outcome.given"),
        *("commitment.made", "commitment.sponsor_asked", "block.people_named"),
        *("ticket.effort_set", "rank.pinned", "rank.unpinned", "rank.drifted"),
        *("ticket.expedited", "ticket.unexpedited", "fairness.moved", "priority.policy_made"),
        *("queue.crunch_began", "queue.crunch_ended"),
        *("clock.at_risk", "clock.missed", "calendar.changed", "goal.changed"),
        *("ticket.assigned", "ticket.snoozed", "ticket.woken", "ticket.tagged"),
        *("ticket.related", "ticket.unrelated"),
        *("view.saved", "view.dropped", "reply.saved", "reply.dropped", "duty.set", "duty.dropped"),
        *("bulk.frozen", "bulk.began", "bulk.ended"),
        *("line.decided", "line.delivered"),
        *("offer.superseded", "promise.started", "promise.failed"),
        *("offering.loaded", "offering.retired", "policy.decided", "quota.granted", "quota.boost_ended"),
        *("workaround.granted", "workaround.expiring", "workaround.renewal_asked", "workaround.renewed"),
        *("workaround.renewal_refused", "workaround.reverting", "workaround.interest", "workaround.cap_set"),
        *("replacement.created", "replacement.wanted", "replacement.milestone"),
        *("order.moved", "nodes.reserved", "node.swapped", "node.kept", "node.quarantined", "node.changed"),
        *("node.quiet", "node.host_key_forgotten", "verdict.given"),
        *("job.queued", "job.started", "job.requeued", "job.cancel_requested", "job.forced"),
        *("job.paused", "job.resumed"),
        *("cluster.lease_ending", "cluster.lease_changed"),
        *("credential.set", "credential.removed", "credentials.sealed_anew"),
        *("schedule.set", "schedule.removed", "schedule.ran", "schedule.skipped"),
    }
)
"""Events that nobody reacts to, on purpose: a new event has to be here or in the table."""

HOLDS: tuple[str, ...] = ("requests_app.tickets.holding.open_among",)
"""Who says that something is not done yet, so that nothing of its jobs may be deleted: refs -> those that are open."""

TELL = "portal.notify.reactions.tell"
REACTIONS.update({name: (*REACTIONS.get(name, ()), TELL) for name in KINDS if name in {*REACTIONS, *NOBODY}})
NOBODY -= set(KINDS)
