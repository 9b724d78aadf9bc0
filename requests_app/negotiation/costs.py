"""What does an offered line cost a month? GPU-hours times the price of one; unknown when there is no price."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

HOURS_A_MONTH = Decimal(730)
"""24 h times 365 d, divided by 12 months."""
_CENT = Decimal("0.01")


def cost_per_month(gpus: int, price_per_gpu_hour: Decimal | None) -> Decimal | None:
    """The price of `gpus` for a month of 730 hours, to the cent; None when the price isn't known, 0 when there are none.

    `price_per_gpu_hour` is in any currency; so is what comes out.
    """
    if price_per_gpu_hour is None:
        return None
    return (gpus * price_per_gpu_hour * HOURS_A_MONTH).quantize(_CENT, rounding=ROUND_HALF_UP)
