"""How much is left, and what would fit? Quantities are GPUs; None is unlimited, 0 is none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Room:
    """A team's quota of one SKU: `limit` (None = unlimited), what is `used` and what is `held` for open decisions."""

    limit: int | None
    used: int
    held: int

    @property
    def left(self) -> int | None:
        """GPUs that can still be held, never negative; None when there is no limit."""
        return None if self.limit is None else max(0, self.limit - self.used - self.held)

    def fits(self, gpus: int) -> bool:
        """True when `gpus` more can be held."""
        left = self.left
        return left is None or gpus <= left

    def nearest_yes(self, gpus: int, *, step: int = 1) -> int:
        """The most that could be held of `gpus`, in whole steps (a step is a node's GPUs)."""
        left = self.left
        return gpus if left is None else min(gpus, left) // step * step


def overdraft(*, limit: int | None, used: int, held: int) -> int:
    """GPUs above the limit: what remains out after a boost has ended, until it is given back."""
    return 0 if limit is None else max(0, used + held - limit)
