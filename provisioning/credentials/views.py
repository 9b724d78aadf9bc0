"""Pages of credentials: which there are and where they may be used; values go in and never come out."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.pages import render_page
from provisioning.credentials import services
from provisioning.credentials.forms import CredentialForm
from provisioning.credentials.models import Credential
from provisioning.fleet.access import check_operates

PAGE = "provisioning/credentials/list.html"


@require_GET
@login_required
def credentials_list(request: HttpRequest) -> HttpResponse:
    """What there is, and the form for another."""
    check_operates(signed_in(request))
    return _page(request, CredentialForm(initial={"name": request.GET.get("name", "")}))


@sensitive_post_parameters("value")
@require_POST
@login_required
def credential_set(request: HttpRequest) -> HttpResponse:
    """Set one; 422 with the form when something of it can't be. The value is never sent back."""
    user = signed_in(request)
    check_operates(user)
    form = CredentialForm(request.POST)
    if form.is_valid():
        try:
            credential = services.set_credential(**form.told(), by=user)
        except Invalid as problem:
            for name, texts in problem.fields.items():
                form.add_error(name if name in form.fields else None, texts)
        else:
            messages.success(request, f"{credential.name} is set; jobs that begin from now on use it.")
            return redirect("credentials:list")
    form.data = {**request.POST.dict(), "value": "", "playbooks": request.POST.getlist("playbooks")}
    return _page(request, form, status=422)


@require_POST
@login_required
def credential_remove(request: HttpRequest, name: str) -> HttpResponse:
    """Remove one."""
    user = signed_in(request)
    credential = find(request, name)
    services.remove_credential(credential, by=user)
    messages.success(request, f"{name} was removed.")
    return redirect("credentials:list")


def find(request: HttpRequest, name: str) -> Credential:
    """The credential; NotFound for whoever may not know of it."""
    found = Credential.objects.visible_to(signed_in(request)).filter(name=name).first()
    if found is None:
        raise NotFound(f"There is no credential {name[:60]!r}.")
    return found


def _page(request: HttpRequest, form: CredentialForm, *, status: int = 200) -> HttpResponse:
    rows = Credential.objects.visible_to(signed_in(request)).select_related("changed_by")
    context = {"credentials": rows.prefetch_related("nodes"), "form": form}
    return render_page(request, PAGE, context, status=status)
