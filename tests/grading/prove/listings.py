"""Every listing and every printed output of a README is cut from code that runs.

A comment above a fenced block says where it comes from:

===========================================  ======================================================
``<!-- from: solutions/x/y.py#name -->``     the source of that function, class or assignment
``<!-- from: outputs/x.json -->``            the whole file
``<!-- run: make attack STEP=02 -->``        what the command prints in a fresh copy of the lab;
                                             ``<!-- run: make test, exit 1 -->`` if it is to fail
``<!-- wire: CallToolRequest -->``           JSON, valid as that type of the protocol; ``message``
                                             is a whole message; stands alone or beside another one
``<!-- sketch: reason -->``                  not cut from anything, and why
===========================================  ======================================================

Diagrams (``mermaid``) need none, nor do commands to type (``sh``): `grading.prove.commands_named`
looks at those.
"""

import json

from grading.prove.extracts import extract_flaw
from grading.prove.lab import Lab
from grading.prove.markdown import Block, split
from grading.prove.outcome import Outcome, Shortfall
from grading.prove.printouts import Printouts
from grading.prove.wire import flaw_of_type, missing_types

NEEDS_NONE = frozenset({"mermaid", "sh", "bash", "shell"})
DIRECTIVES = ("from", "run", "wire", "sketch")


def readmes(lab: Lab) -> list[str]:
    """The READMEs of the chosen steps; with no choice, all below lessons and the lab's own."""
    chosen = {f"lessons/{step.folder}/README.md" for step in lab.steps}
    every = [n for n in lab.files("README.md") if n == "README.md" or n.startswith("lessons/")]
    return [name for name in every if name in chosen or not lab.is_filtered]


def listings_are_cut_from_code(lab: Lab) -> Outcome:
    """Each fenced block of a README equals its source, or says that it is a sketch."""
    blocks = [(name, block) for name in readmes(lab) for block in split(lab.text(name))[0]]
    blocks = [(name, block) for name, block in blocks if block.language not in NEEDS_NONE]
    printouts = Printouts(lab)
    for _, block in blocks:
        if "run" in block.directives:
            printouts.want(block.directives["run"])
    found = [(f"{name}:{block.line}", _flaws(lab, printouts, block)) for name, block in blocks]
    good = sum(not flaws for _, flaws in found)
    shortfalls = tuple(Shortfall(where, flaw) for where, flaws in found for flaw in flaws)
    sketches = sum("sketch" in block.directives for _, block in blocks)
    figures = f"{good} of {len(blocks)}" + (f", {sketches} of them sketches" if sketches else "")
    return Outcome(figures, len(blocks), shortfalls, _notes(blocks))


def _notes(blocks: list[tuple[str, Block]]) -> tuple[str, ...]:
    wired = any("wire" in block.directives for _, block in blocks)
    return (missing_types(),) if wired and missing_types() else ()


def _flaws(lab: Lab, printouts: Printouts, block: Block) -> list[str]:
    directives = {word: block.directives[word] for word in DIRECTIVES if word in block.directives}
    if not directives:
        return [f"this {block.language or 'unnamed'} block does not say what it is cut from."]
    flaws = []
    if "sketch" in directives and not directives["sketch"]:
        flaws.append("a sketch needs a reason.")
    if "from" in directives:
        flaws.append(extract_flaw(lab, directives["from"], block.text))
    if "run" in directives:
        flaws.append(printouts.flaw(directives["run"], block.text))
    if "wire" in directives and not missing_types():
        flaws.append(_wire_flaw(directives["wire"], block.text))
    return [flaw for flaw in flaws if flaw]


def _wire_flaw(name: str, text: str) -> str:
    try:
        why = flaw_of_type(name, json.loads(text))
    except ValueError as error:
        return f"is not JSON: {error}."
    except LookupError as error:
        return f"{error.args[0]}."
    return f"is no valid {name}: {why}." if why else ""
