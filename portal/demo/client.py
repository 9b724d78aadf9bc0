"""How does an API client talk to the portal? As anybody would: HTTP, JSON and a token."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any


class ApiRefusal(Exception):
    """The portal answered with a problem; the message is its detail."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"{status}: {body.get('detail', body)}")
        self.http_status = status
        self.body = body


class Client:
    """The API of one portal in the hands of one person."""

    def __init__(self, base_url: str, token: str) -> None:
        self.root = f"{base_url}/api/v1"
        self._token = token
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str) -> dict[str, Any]:
        """GET a resource."""
        return self._send("GET", path, None, {})

    def post(self, path: str, body: dict[str, Any], *, key: str = "") -> dict[str, Any]:
        """POST; `key` makes a repeated call happen once."""
        return self._send("POST", path, body, {"Idempotency-Key": key} if key else {})

    def _send(
        self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]
    ) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.root}/{path}", data=data, method=method)  # noqa: S310 - http to ourselves
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.add_header(name, value)
        try:
            with self._opener.open(request, timeout=30) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as refusal:
            raise ApiRefusal(refusal.code, _read(refusal)) from refusal


def _read(refusal: urllib.error.HTTPError) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.load(refusal)
    except ValueError:
        return {"detail": refusal.reason}
    return found
