"""What a soak hands back: numbers, and sentences about what does not balance."""

from dataclasses import dataclass, field


@dataclass
class Ledger:
    """numbers: what was counted, by name. wrong: one sentence for each thing that is wrong."""

    numbers: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def expect(self, holds: bool, sentence: str) -> None:
        """Note the sentence unless it holds."""
        if not holds:
            self.wrong.append(sentence)
