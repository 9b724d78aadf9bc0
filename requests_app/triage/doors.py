"""For whom is the desk there? Infra people; for everybody else there is nothing at its addresses."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse

from portal.accounts.models import User
from portal.kernel.errors import NotFound

View = Callable[..., HttpResponse]


def for_triagers(view: View) -> View:
    """The desk doesn't exist for anybody else."""

    @login_required
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not isinstance(request.user, User) or not request.user.is_infra:
            raise NotFound("There is nothing here that you may see.")
        return view(request, *args, **kwargs)

    return checked
