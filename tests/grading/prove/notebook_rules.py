"""What a notebook may not do, read off its file: hide an output, skip a cell, hold an answer.

Deliberately wrong messages are allowed in a cell with the tag ``malformed-on-purpose``, which must
then hold at least one.
"""

import ast
import json
from collections.abc import Iterator
from typing import Any

from grading.prove.lab import Lab
from grading.prove.notebook_run import joined
from grading.prove.notebooks import chosen_notebooks
from grading.prove.outcome import Outcome, Shortfall, counted
from grading.prove.wire import Conversation, missing_types, spoken

HIDING_TAGS = frozenset({"nbval-ignore-output", "nbval-skip"})
UNCOMPARED = frozenset({"image/png", "image/jpeg"})
HIDING_COMMENTS = ("NBVAL_IGNORE_OUTPUT", "NBVAL_SKIP", "PYTEST_VALIDATE_IGNORE_OUTPUT")
ON_PURPOSE = "malformed-on-purpose"

Cell = dict[str, Any]


def notebooks_keep_the_rules(lab: Lab) -> Outcome:
    """Every notebook was run in order, hides nothing, gives no answer and speaks the protocol."""
    names = chosen_notebooks(lab)
    answers = exercise_names(lab)
    found = [(name, flaws(lab.text(name), answers)) for name in names]
    good = sum(not sentences for _, sentences in found)
    shortfalls = [Shortfall(name, text) for name, sentences in found for text in sentences]
    outcome = counted(good, len(names), "keep the rules of notebooks", shortfalls)
    missing = missing_types()
    return Outcome(
        outcome.figures, outcome.proved, outcome.shortfalls, (missing,) if missing else ()
    )


def exercise_names(lab: Lab) -> set[str]:
    """The functions and classes that the learner is to write, in any step."""
    functions = [f for step in lab.all_steps for e in step.exercises for f in e.functions]
    return {function.split(".")[0] for function in functions}


def flaws(text: str, answers: set[str]) -> list[str]:
    """One sentence for each rule that a notebook breaks."""
    notebook = json.loads(text)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code = [cell for cell in cells if joined(cell["source"]).strip()]
    if not code:
        return ["it has no code cell."]
    found = [] if _was_run_in_order(code) else ["its cells were not run once, from the top."]
    conversation = Conversation()
    for number, cell in enumerate(cells, 1):
        sentences = [*_flaws_of_source(cell, answers), *_flaws_of_outputs(cell)]
        sentences += _flaws_of_messages(cell, conversation)
        found += [f"code cell {number} {sentence}" for sentence in sentences]
    return found


def _was_run_in_order(cells: list[Cell]) -> bool:
    return [cell.get("execution_count") for cell in cells] == list(range(1, len(cells) + 1))


def _tags(cell: Cell) -> set[str]:
    return set(cell.get("metadata", {}).get("tags", []))


def _flaws_of_source(cell: Cell, answers: set[str]) -> Iterator[str]:
    source = joined(cell["source"])
    yield from (f"has the tag {tag}, which hides its output." for tag in _tags(cell) & HIDING_TAGS)
    yield from (
        f"says {word}, which hides its output." for word in HIDING_COMMENTS if word in source
    )
    if "get_ipython" in source:
        yield "calls get_ipython, which is a magic in disguise."
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        yield f"is not plain Python ({(error.text or '').strip()[:60]}): no magics, no shell."
        return
    yield from (
        f"defines {name}, which is an exercise." for name in _defined(tree) if name in answers
    )


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _flaws_of_outputs(cell: Cell) -> Iterator[str]:
    kinds = [output["output_type"] for output in cell["outputs"]]
    expects_error = "raises-exception" in _tags(cell)
    if expects_error and "error" not in kinds:
        yield "has the tag raises-exception and raised nothing."
    if not expects_error and "error" in kinds:
        yield "raised an exception."
    if any(output.get("name") == "stderr" for output in cell["outputs"]):
        yield "wrote to stderr."
    pictures = {kind for output in cell["outputs"] for kind in output.get("data", {})} & UNCOMPARED
    yield from (f"shows {kind}, which nobody compares; SVG is text." for kind in pictures)


def _flaws_of_messages(cell: Cell, conversation: Conversation) -> Iterator[str]:
    if missing_types():
        return
    wrong = [why for message in spoken(cell["outputs"]) if (why := conversation.flaw(message))]
    if ON_PURPOSE not in _tags(cell):
        yield from (f"shows a message that the protocol does not know: {why}" for why in wrong)
    elif not wrong:
        yield f"has the tag {ON_PURPOSE}, and all of its messages are well formed."
