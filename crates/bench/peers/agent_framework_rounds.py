"""One agent of Microsoft's Agent Framework with its OpenAI client: SERVER ROUNDS; a line of JSON."""

import time

from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatCompletionClient

import rounds


look = tool(approval_mode="never_require")(rounds.look)


async def run(base_url, count):
    client = OpenAIChatCompletionClient(model="scripted", base_url=base_url, api_key="none")
    client.function_invocation_configuration["max_iterations"] = count + 1
    agent = Agent(client, "Look at every page.", tools=[look])
    started = time.perf_counter()
    answer = await agent.run("Look")
    took = time.perf_counter() - started
    calls = sum(content.type == "function_result" for message in answer.messages for content in message.contents)
    assert calls == count, calls
    return took


rounds.measure(run)
