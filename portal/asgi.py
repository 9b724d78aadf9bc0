"""Where the web server comes in."""

import os
from typing import Any, cast

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponseBase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")  # noqa: TID251 - before Config exists

django.setup(set_prefix=False)

from portal.shell.lifespan import Lifespan  # noqa: E402 - models need Django to be set up
from provisioning.jobs.stream_server import StreamServer  # noqa: E402


class InOneThread(ASGIHandler):
    """Django's own, but a request stays in its thread from the first middleware to the last.

    Nothing of ours is async: Django would send each request to the loop and back between its middlewares and its view.
    """

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - Django's signature
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)


application = Lifespan(StreamServer(cast("Any", InOneThread())))
