"""The properties of the lab, in the order of their lines."""

from grading.prove.anatomy import steps_are_complete
from grading.prove.cheating import cheats_score_nothing
from grading.prove.commands_named import commands_named_exist
from grading.prove.lesson_texts import lessons_are_generated
from grading.prove.links import links_resolve
from grading.prove.listings import listings_are_cut_from_code
from grading.prove.notebook_rules import notebooks_keep_the_rules
from grading.prove.notebooks import notebooks_run_again
from grading.prove.outcome import Property
from grading.prove.own_tests import lab_tests_pass
from grading.prove.rejections import (
    every_check_catches_one,
    failure_texts_teach,
    known_bad_is_rejected,
)
from grading.prove.requirement_ids import requirement_ids_resolve
from grading.prove.scores import (
    alternatives_pass_everything,
    solutions_pass_everything,
    stubs_pass_nothing,
)
from grading.prove.style import style_is_clean

PROPERTIES = (
    Property("stubs", stubs_pass_nothing),
    Property("solutions", solutions_pass_everything),
    Property("alternatives", alternatives_pass_everything),
    Property("known-bad", known_bad_is_rejected),
    Property("coverage", every_check_catches_one),
    Property("failure-texts", failure_texts_teach),
    Property("cheats", cheats_score_nothing),
    Property("lessons", lessons_are_generated),
    Property("notebooks", notebooks_run_again, slow=True),
    Property("notebook-rules", notebooks_keep_the_rules),
    Property("listings", listings_are_cut_from_code, slow=True),
    Property("commands", commands_named_exist),
    Property("requirement-ids", requirement_ids_resolve),
    Property("links", links_resolve),
    Property("anatomy", steps_are_complete),
    Property("lab-tests", lab_tests_pass, slow=True),
    Property("style", style_is_clean, slow=True),
)
