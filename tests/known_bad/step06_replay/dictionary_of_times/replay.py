from kit.refusals import NonceSpent, StoreFull


class Transaction:
    def __init__(self, notes):
        self.notes = notes
        self.gone = set()

    def find(self, note_id):
        if note_id in self.gone:
            return None
        return self.notes.find(note_id)

    def delete(self, note_id):
        if self.find(note_id) is None:
            raise KeyError(note_id)
        self.gone.add(note_id)

    def commit(self):
        for note_id in self.gone:
            self.notes.delete(note_id)


class ReplayStore:
    def __init__(self, notes, clock, capacity=10_000, leeway=5):
        self.notes = notes
        self.clock = clock
        self.capacity = capacity
        self.leeway = leeway
        self.used = {}

    def claim(self, nonce, expires_at, effect):
        now = self.clock.now()
        for old in list(self.used):
            if self.used[old] <= now:
                del self.used[old]
        if nonce in self.used or expires_at + self.leeway <= now:
            raise NonceSpent
        if len(self.used) >= self.capacity:
            raise StoreFull
        self.used[nonce] = expires_at + self.leeway
        transaction = Transaction(self.notes)
        result = effect(transaction)
        transaction.commit()
        return result

    def prune(self):
        pass

    def remember(self, nonce, until):
        self.used[nonce] = until

    def is_spent(self, nonce):
        return nonce in self.used
