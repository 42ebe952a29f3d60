"""The one way in which a stub says that nobody has written it yet."""

from typing import NoReturn


class NotStarted(BaseException):
    """An exercise whose body is still ``todo(...)``.

    It derives from BaseException so that no ``except Exception`` in a half-written part can turn
    "not started" into an answer.
    """

    def __init__(self, exercise: str) -> None:
        super().__init__(exercise)
        self.exercise = exercise


def todo(exercise: str) -> NoReturn:
    """Stop here: this exercise waits for the learner.

    exercise: number and title, for example ``"2.1: Read a note id"``.
    Errors: always raises NotStarted.
    """
    raise NotStarted(exercise)
