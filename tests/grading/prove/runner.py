"""Runs the properties side by side and prints one line for each, in the order of the table.

Promise: a property whose machinery breaks, or that found nothing to look at, never counts as one
that holds.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from grading.prove.lab import Lab
from grading.prove.outcome import Outcome, Property, Shortfall

NAME, FIGURES = 19, 58
LISTED = 40


def prove_all(
    lab: Lab, properties: Sequence[Property], say: Callable[[str], None] = print
) -> list[str]:
    """Prove the properties; return the names of those that fall short.

    After an interrupt nothing new is started, so that it takes effect at once.
    """
    fallen: list[str] = []
    with ThreadPoolExecutor(max_workers=max(1, len(properties))) as threads:
        by_urgency = sorted(properties, key=lambda item: not item.slow)
        running = {item.name: threads.submit(judged, item, lab) for item in by_urgency}
        try:
            for item in properties:
                outcome = running[item.name].result()
                _print(item, outcome, say)
                fallen += [item.name] if outcome.shortfalls else []
        except KeyboardInterrupt:
            lab.pool.shutdown(wait=False, cancel_futures=True)
            raise
    return fallen


def judged(item: Property, lab: Lab) -> Outcome:
    """The outcome of one property, a crash and an empty hand turned into shortfalls."""
    try:
        outcome = item.prove(lab)
    except Exception as crash:
        cause = f"the machinery of this property broke: {type(crash).__name__}: {crash}"
        return Outcome(
            "could not be looked at", 0, (Shortfall(item.name, " ".join(cause.split())),)
        )
    if outcome.proved or outcome.shortfalls or outcome.excuse:
        return outcome
    nothing = Shortfall(item.name, "there was nothing to prove, which proves nothing.")
    return replace(outcome, shortfalls=(nothing,))


def _print(item: Property, outcome: Outcome, say: Callable[[str], None]) -> None:
    word = "FALLS SHORT" if outcome.shortfalls else "ok"
    figures = outcome.figures + (f" ({outcome.excuse})" if outcome.excuse else "")
    say(f"{item.name:<{NAME}}{figures:<{FIGURES}} {word}")
    for note in outcome.notes:
        say(f"    note: {note}")
    for shortfall in outcome.shortfalls[:LISTED]:
        say(f"    {shortfall}")
    if len(outcome.shortfalls) > LISTED:
        say(f"    … and {len(outcome.shortfalls) - LISTED} more")
