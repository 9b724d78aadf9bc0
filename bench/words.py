"""What do people write about? A list of words, so that the portal and its peer are filled and searched alike."""

from __future__ import annotations

import random

WORDS = (
    "training inference dataset checkpoint cluster storage network driver kernel quota queue node rack image "
    "container mount latency bandwidth thermal throttle memory fabric collective profiler dashboard alert metric "
    "token ingest shard replica cache compiler wheel runner pipeline sweep ablation baseline finetune vision speech "
    "robotics climate protein language retrieval reward simulator planner tokenizer encoder decoder attention"
).split()


def pairs(count: int) -> list[str]:
    """Two words each, always the same ones."""
    chosen = random.Random(11)
    return [" ".join(chosen.sample(WORDS[:50], 2)) for _ in range(count)]
