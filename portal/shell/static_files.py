"""How are style sheets and scripts served? By WhiteNoise, read whole: they are small, and ASGI can't stream a plain file."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise whose answers are bytes. Its own ones hold an open file, which under ASGI is read at once anyway,
    with a warning in the log for every file of every page."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:  # type: ignore[override]  # as WhiteNoise itself does
        """The file, or what its headers say of it (304, 206), as WhiteNoise decided."""
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file:
                content = found.file.read()
        response = HttpResponse(content, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response
