"""One agent of Microsoft's Agent Framework with its OpenAI client: SERVER ROUNDS; a line of JSON."""

import asyncio
import json
import sys
import time

from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatCompletionClient


@tool(approval_mode="never_require")
async def look(page: int) -> str:
    """Gives a page of the part."""
    words = f"page {page} "
    return words * (400 // len(words))


async def run(base_url, rounds):
    client = OpenAIChatCompletionClient(model="scripted", base_url=base_url, api_key="none")
    client.function_invocation_configuration["max_iterations"] = rounds + 1
    agent = Agent(client, "Look at every page.", tools=[look])
    started = time.perf_counter()
    answer = await agent.run("Look")
    took = time.perf_counter() - started
    calls = sum(content.type == "function_result" for message in answer.messages for content in message.contents)
    assert calls == rounds, calls
    return took


async def main():
    server, rounds = sys.argv[1], int(sys.argv[2])
    # What is only loaded with the first request stays out of the time.
    await run(f"{server}/warm/1/v1", 1)
    took = await run(f"{server}/rounds/{rounds}/v1", rounds)
    print(json.dumps({"rounds": rounds, "ms": took * 1000}))


asyncio.run(main())
