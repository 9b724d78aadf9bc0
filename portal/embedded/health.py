"""Does the web server say that it is well?"""

import http.client
from urllib.parse import urlsplit

HEALTH_PATH = "/healthz"
ANSWER_SECONDS = 2.0


def is_healthy(base_url: str) -> bool:
    """One question, answered within ANSWER_SECONDS."""
    place = urlsplit(base_url)
    line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ANSWER_SECONDS)
    try:
        line.request("GET", HEALTH_PATH, headers={"Host": "localhost"})
        return line.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()
