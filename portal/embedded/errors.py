"""What can stop the servers of one machine from starting, said so that a person can mend it?"""


class StartError(Exception):
    """A start that was refused or failed; the message says why and what would help."""


class AlreadyRunningError(StartError):
    """Another supervisor lives on this var folder."""
