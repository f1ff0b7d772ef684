"""One agent of Pydantic AI with its OpenAI client, without instrumentation: SERVER ROUNDS; a line of JSON."""

import time

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

import rounds


async def run(base_url, count):
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=base_url, api_key="none"))
    agent = Agent(model, system_prompt="Look at every page.")
    agent.tool_plain(rounds.look)
    started = time.perf_counter()
    result = await agent.run("Look", usage_limits=UsageLimits(request_limit=None))
    took = time.perf_counter() - started
    assert result.usage.tool_calls == count, result.usage
    return took


rounds.measure(run)
