"""What the lab provides and the learner never edits.

Nothing in here is the answer to an exercise: clocks, randomness, the notes world, the tape, the
scripted user, the loops that move bytes, and the commands behind ``make``.
"""
