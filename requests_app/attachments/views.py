"""How does a file leave the house? Checked at each download, and inert: never shown, never run, never guessed at."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import NotFound
from requests_app.attachments import services, storage
from requests_app.attachments.models import Attachment
from requests_app.tickets.models import Ticket


def file_of(user: User, ref: str, public_id: str) -> Attachment:
    """The file, found through the ticket and the comment that `user` may see."""
    ticket = Ticket.objects.visible_to(user).by_ref(ref)
    files = Attachment.objects.visible_to(user).filter(ticket=ticket).select_related("ticket", "comment")
    found = files.filter(public_id=public_id).first()
    if found is None:
        raise NotFound("There is no such file.")
    return found


def sent(file: Attachment) -> FileResponse:
    """The bytes, to be saved and nothing else, whatever they pretend to be."""
    try:
        opened = storage.path_of(file.stored_as).open("rb")
    except FileNotFoundError as problem:
        raise NotFound("The bytes of this file are lost.") from problem
    response = FileResponse(
        opened, as_attachment=True, filename=file.name, content_type="application/octet-stream"
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    response["Cache-Control"] = "private, no-store"
    return response


@require_GET
@login_required
def download(request: HttpRequest, ref: str, public_id: str) -> FileResponse:
    """One file."""
    return sent(file_of(signed_in(request), ref, public_id))


@require_POST
@login_required
def remove(request: HttpRequest, ref: str, public_id: str) -> HttpResponse:
    """Remove one file."""
    person = signed_in(request)
    file = file_of(person, ref, public_id)
    services.remove_file(file=file, by=person)
    messages.success(request, f"{file.name} is removed.")
    return redirect("tickets:detail", ref=ref)
