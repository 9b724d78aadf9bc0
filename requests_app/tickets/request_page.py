"""What does the form of a request hold? Its offering, its team, its two forms, its token and its draft."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from requests_app.catalogue.forms import AnswersForm
from requests_app.catalogue.live import live_for
from requests_app.catalogue.models import Offering, OfferingVersion
from requests_app.catalogue.prose import to_html
from requests_app.catalogue.questions import questions_of
from requests_app.tickets.drafts import latest_draft, new_token
from requests_app.tickets.forms import BlockForm
from requests_app.tickets.models import Draft

_OUR_TOKEN = re.compile(r"[A-Za-z0-9_-]{20,60}")
NOT_TYPED = frozenset({"csrfmiddlewaretoken", "token", "version", "show"})


@dataclass(kw_only=True)
class RequestPage:
    """One opened form. `seen` is the offering's version number when it was opened."""

    version: OfferingVersion
    user: User
    teams: Sequence[Team]
    team: Team | None
    form: AnswersForm
    block_form: BlockForm
    token: str
    seen: str
    draft: Draft | None = None
    notice: str = ""

    @property
    def is_outdated(self) -> bool:
        """True when the offering has a newer version than the form was made from."""
        return self.seen != str(self.version.number)

    @property
    def is_own_token(self) -> bool:
        """True for a token of the shape this portal makes."""
        return _OUR_TOKEN.fullmatch(self.token) is not None

    def is_valid(self) -> bool:
        """Judge both forms, so that all complaints are seen at once."""
        answers_good, block_good = self.form.is_valid(), self.block_form.is_valid()
        if self.team is None:
            self.form.add_error(None, "Choose the team this is for.")
        if not self.is_own_token:
            self.form.add_error(
                None, "This form has lost its one-time token; reload the page, your draft is kept."
            )
        return answers_good and block_good and self.team is not None and self.is_own_token

    def add_complaints(self, fields: Mapping[str, Sequence[str]]) -> None:
        """Put what a service complained about beside the fields."""
        for name, said in fields.items():
            plain = name.removeprefix("blocked.")
            if plain != name and plain in self.block_form.fields:
                self.block_form.add_error(plain, list(said))
            else:
                self.form.add_error(name if name in self.form.fields else None, list(said))

    @property
    def context(self) -> dict[str, Any]:
        """What the template needs."""
        return {
            "page": self,
            "offering": self.version.offering,
            "version": self.version,
            "description": to_html(self.version.description),
            "form": self.form,
            "block_form": self.block_form,
        }


def open_page(offering: Offering, user: User, *, team: str = "") -> RequestPage:
    """A fresh form, or the one that was typed last."""
    draft = latest_draft(offering, user)
    typed = MultiValueDict({} if draft is None else draft.typed)
    wanted = team or typed.get("team", "")
    return _page(offering, user, wanted, typed=typed if draft is not None else None, draft=draft)


def posted_page(offering: Offering, user: User, data: QueryDict) -> RequestPage:
    """The form as it was posted, to be judged."""
    return _page(offering, user, data.get("team", ""), data=data)


def typed_page(offering: Offering, user: User, typed: QueryDict) -> RequestPage:
    """The form as it stands half-typed: nothing in it is judged yet."""
    page = _page(offering, user, typed.get("team", ""), typed=typed)
    page.token, page.seen = _token(typed, None), typed.get("version", "")
    return page


def _page(
    offering: Offering,
    user: User,
    team_slug: str,
    *,
    data: QueryDict | None = None,
    typed: MultiValueDict[str, Any] | None = None,
    draft: Draft | None = None,
) -> RequestPage:
    version = offering.current
    assert version is not None
    version.offering = offering
    teams = list(user.teams().order_by("name"))
    team = next((each for each in teams if each.slug == team_slug), teams[0] if len(teams) == 1 else None)
    form = AnswersForm(
        questions_of(version.content), live=live_for(team), today=now().date(), data=data, typed=typed
    )
    return RequestPage(
        version=version,
        user=user,
        teams=teams,
        team=team,
        form=form,
        block_form=_block_form(team, data, typed),
        token=_token(data, draft),
        seen=str(version.number) if data is None else data.get("version", ""),
        draft=draft,
    )


def _block_form(
    team: Team | None, data: QueryDict | None, typed: MultiValueDict[str, Any] | None
) -> BlockForm:
    """Names are asked of a team that is known; until one is chosen, a number will do."""
    people: list[User] = []
    if team is not None:
        people = list(User.objects.filter(memberships__team=team, is_active=True).order_by("username"))
    if data is not None:
        return BlockForm(data, people=people)
    return BlockForm(initial=_typed_block(typed, people), people=people)


def _token(data: QueryDict | None, draft: Draft | None) -> str:
    if data is not None:
        return data.get("token", "")[:80]
    return new_token() if draft is None else draft.token


def _typed_block(typed: MultiValueDict[str, Any] | None, people: list[User]) -> dict[str, Any]:
    """What was typed about the block, as it was typed. Fields of a fresh form keep their own first values."""
    if typed is None:
        return {}
    blank = BlockForm(people=people)
    return {
        name: field.widget.value_from_datadict(typed, {}, blank.add_prefix(name))
        for name, field in blank.fields.items()
    }
