"""The pages of people: signing in and out, profile, password, tokens, teams."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts import queries, services, signing_in
from portal.accounts.forms import MemberForm, ProfileForm, SignInForm, TokenForm, take_complaints
from portal.accounts.models import Team, User
from portal.accounts.signed_in import signed_in
from portal.accounts.ssh_keys import KeyComplaint, parse_keys
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, PortalError
from portal.kernel.pages import render_page, safe_next

WRONG = "User name and password don't fit together. Capital letters count in the password."


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Ask for name and password; never say which of them was wrong."""
    if request.user.is_authenticated:
        return redirect(safe_next(request))
    form = SignInForm(request.POST or None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                if signing_in.sign_in(request, **form.cleaned_data) is not None:
                    return redirect(safe_next(request))
                form.add_error(None, WRONG)
            except signing_in.TooManyTries as problem:
                form.add_error(None, problem.message)
                status = problem.status
    context = {"form": form, "next": safe_next(request)}
    return render_page(request, "portal/accounts/sign_in.html", context, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    signing_in.sign_out(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


@login_required
@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    """Name, time zone and SSH keys."""
    user = signed_in(request)
    form = ProfileForm(
        request.POST or None, initial=ProfileForm.initial_of(user), portal_zone=settings.TIME_ZONE
    )
    if request.method == "POST" and form.is_valid():
        try:
            services.save_profile(**form.cleaned_data, by=user)
        except Invalid as problem:
            take_complaints(form, problem)
        else:
            messages.success(request, "Your profile is saved.")
            return redirect("accounts:profile")
    try:
        keys = parse_keys(user.ssh_public_keys)
    except KeyComplaint:  # written before the rules of today
        keys = ()
    context = {"form": form, "keys": keys, "memberships": user.memberships.select_related("team")}
    return render_page(request, "portal/accounts/profile.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def keys(request: HttpRequest) -> HttpResponse:
    """Whether single keys may be verbs: some people's tools send letters that nobody typed."""
    wanted = request.POST.get("single_keys", "")
    if wanted not in ("on", "off"):
        raise Invalid({"single_keys": ["Say on or off."]})
    services.set_single_keys(on=wanted == "on", by=signed_in(request))
    messages.success(request, f"Single keys are {wanted}.")
    return redirect(safe_next(request))


@never_cache
@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """A new password, given the old one; this session goes on, the others end."""
    user = signed_in(request)
    form = PasswordChangeForm(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.change_password(password=form.cleaned_data["new_password1"], by=user)
        update_session_auth_hash(request, user)
        messages.success(request, "Your password is changed. Other sessions of yours have ended.")
        return redirect("accounts:profile")
    return render_page(
        request, "portal/accounts/password.html", {"form": form}, status=422 if form.errors else 200
    )


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The tokens of the person; a new one is shown in the answer to its POST and never again."""
    user = signed_in(request)
    form = TokenForm(request.POST or None, user=user)
    fresh = ""
    if request.method == "POST" and form.is_valid():
        try:
            _, fresh = services.issue_token(**form.cleaned_data, by=user)
        except Invalid as problem:
            take_complaints(form, problem)
        else:
            form = TokenForm(user=user)
    at = now()
    rows = [(token, token.is_live(at)) for token in queries.tokens_of(user)]
    context = {
        "form": form,
        "fresh": fresh,
        "rows": rows,
        "address": request.build_absolute_uri("/api/v1/me"),
    }
    return render_page(request, "portal/accounts/tokens.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def revoke(request: HttpRequest, public_id: str) -> HttpResponse:
    """End a token at once."""
    services.revoke_token(public_id=public_id, by=signed_in(request))
    messages.success(request, "The token is revoked. Whoever uses it is refused from now on.")
    return redirect("accounts:tokens")


@login_required
@require_GET
def teams(request: HttpRequest) -> HttpResponse:
    """The teams a person may see."""
    rows = queries.team_rows(signed_in(request), after=request.GET.get("after", "").replace("\0", "")[:31])
    page, more = rows[: queries.TEAMS_A_PAGE], len(rows) > queries.TEAMS_A_PAGE
    return render_page(
        request, "portal/accounts/teams.html", {"teams": page, "after": page[-1].slug if more else ""}
    )


@login_required
@require_http_methods(["GET", "POST"])
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """Who is in a team; its leads take people in here."""
    user = signed_in(request)
    found = _team(user, slug)
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            services.set_member(team=found, **form.cleaned_data, by=user)
        except Invalid as problem:
            take_complaints(form, problem)
        else:
            messages.success(
                request, f"{form.cleaned_data['username']} is in {found.name} as {form.cleaned_data['role']}."
            )
            return redirect("accounts:team", slug)
    context = {
        "team": found,
        "form": form,
        "members": queries.members_of(found),
        "may_manage": services.may_manage(user, found),
    }
    return render_page(request, "portal/accounts/team.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def member(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """Make a member a lead or a lead a member, or take them out."""
    user = signed_in(request)
    found = _team(user, slug)
    try:
        if request.POST.get("role"):
            services.set_member(team=found, username=username, role=request.POST["role"], by=user)
        else:
            services.remove_member(team=found, username=username, by=user)
    except PortalError as problem:
        if problem.status != 422:
            raise
        nearest = problem.data.get("nearest_yes", "")
        messages.error(request, f"{problem.message} {nearest}".strip())
    else:
        messages.success(request, f"{found.name} is changed.")
    still_there = Team.objects.visible_to(user).filter(pk=found.pk).exists()
    return redirect("accounts:team", slug) if still_there else redirect("accounts:teams")


def _team(user: User, slug: str) -> Team:
    return get_object_or_404(Team.objects.visible_to(user), slug=slug)
