"""How does the web server run on a socket that the supervisor opened?

`uvicorn --fd` would take it for a Unix socket and leave Nagle's algorithm on, so uvicorn is run from here:
`python -m portal.embedded.serve DESCRIPTOR LOG_LEVEL`.
"""

import socket
import sys

import uvicorn

STREAMS_SECONDS = 3  # an open page keeps its event stream; it is cut off after that


def main(descriptor: int, log_level: str) -> None:
    server = uvicorn.Server(
        uvicorn.Config(
            "portal.asgi:application",
            log_level=log_level.lower(),
            timeout_graceful_shutdown=STREAMS_SECONDS,
            server_header=False,
            access_log=False,  # a proxy keeps one; here every poll of an open page would be a line
            lifespan="on",
        )
    )
    server.run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
