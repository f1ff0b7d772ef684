"""What the peers have in common where think-act rounds are measured: the tool, and what is told."""

import asyncio
import json
import sys


async def look(page: int) -> str:
    """Gives a page of the part."""
    words = f"page {page} "
    return words * (400 // len(words))


def measure(run):
    """Awaits run(BASE_URL, COUNT), which gives the seconds of so many rounds: SERVER ROUNDS; prints a line of JSON."""
    asyncio.run(measured(run, sys.argv[1], int(sys.argv[2])))


async def measured(run, server, count):
    # What is only loaded with the first request stays out of the time.
    await run(f"{server}/warm/1/v1", 1)
    took = await run(f"{server}/rounds/{count}/v1", count)
    print(json.dumps({"rounds": count, "ms": took * 1000}))
