import threading
from collections import OrderedDict

from kit.refusals import NonceSpent


class Transaction:
    def __init__(self, notes):
        self.notes = notes

    def find(self, note_id):
        return self.notes.find(note_id)

    def delete(self, note_id):
        self.notes.delete(note_id)

    def commit(self):
        pass


class ReplayStore:
    def __init__(self, notes, clock, capacity=10_000, leeway=5):
        self.notes, self.clock, self.capacity, self.leeway = notes, clock, capacity, leeway
        self.cache = OrderedDict()
        self.lock = threading.RLock()

    def claim(self, nonce, expires_at, effect):
        with self.lock:
            if nonce in self.cache and self.cache[nonce] > self.clock.now():
                self.cache.move_to_end(nonce)
                raise NonceSpent
            self.remember(nonce, expires_at + self.leeway)
            try:
                return effect(Transaction(self.notes))
            except Exception:
                del self.cache[nonce]
                raise

    def prune(self):
        while len(self.cache) > self.capacity:
            self.cache.popitem(last=False)

    def remember(self, nonce, until):
        self.cache[nonce] = until
        self.prune()

    def is_spent(self, nonce):
        return nonce in self.cache
