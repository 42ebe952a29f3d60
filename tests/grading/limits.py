"""How much one worker may use. Every limit is far above what a correct part needs."""

import contextlib
import resource

SECONDS_OF_CPU = 20
LIMITS = {
    "RLIMIT_CPU": SECONDS_OF_CPU,
    "RLIMIT_AS": 1024**3,
    "RLIMIT_FSIZE": 64 * 1024**2,
    "RLIMIT_NOFILE": 256,
    "RLIMIT_CORE": 0,
}


def limit_usage() -> None:
    """Set the limits for this process and its children; a limit the system lacks is left out."""
    for name, wanted in LIMITS.items():
        if not hasattr(resource, name):
            continue
        number = getattr(resource, name)
        with contextlib.suppress(ValueError, OSError):
            _, hard = resource.getrlimit(number)
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(number, (most, most))
