"""One agent of Pydantic AI with its OpenAI client, without instrumentation: SERVER ROUNDS; a line of JSON."""

import asyncio
import json
import sys
import time

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits


async def look(page: int) -> str:
    """Gives a page of the part."""
    words = f"page {page} "
    return words * (400 // len(words))


async def run(base_url, rounds):
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=base_url, api_key="none"))
    agent = Agent(model, system_prompt="Look at every page.")
    agent.tool_plain(look)
    started = time.perf_counter()
    result = await agent.run("Look", usage_limits=UsageLimits(request_limit=None))
    took = time.perf_counter() - started
    assert result.usage.tool_calls == rounds, result.usage
    return took


async def main():
    server, rounds = sys.argv[1], int(sys.argv[2])
    # What is only loaded with the first request stays out of the time.
    await run(f"{server}/warm/1/v1", 1)
    took = await run(f"{server}/rounds/{rounds}/v1", rounds)
    print(json.dumps({"rounds": rounds, "ms": took * 1000}))


asyncio.run(main())
