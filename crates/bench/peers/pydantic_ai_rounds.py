"""One agent of Pydantic AI whose model is a function in this process, without instrumentation: ROUNDS; a line of JSON."""

import asyncio
import json
import sys
import time

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits


async def main():
    rounds = int(sys.argv[1])
    asked = 0
    model = 0.0

    # Asynchronous, and with its tokens: else each call would go to another thread, and the whole history would be counted for it.
    async def answer(messages, info):
        nonlocal asked, model
        begun = time.perf_counter()
        asked += 1
        if asked > rounds:
            parts = [TextPart("All pages were looked at.")]
        else:
            parts = [ToolCallPart("look", {"page": asked}, tool_call_id=f"c{asked}")]
        response = ModelResponse(parts=parts, usage=RequestUsage(input_tokens=1, output_tokens=1))
        model += time.perf_counter() - begun
        return response

    agent = Agent(FunctionModel(answer), system_prompt="Look at every page.")

    @agent.tool_plain
    async def look(page: int) -> str:
        words = f"page {page} "
        return words * (400 // len(words))

    started = time.perf_counter()
    result = await agent.run("Look", usage_limits=UsageLimits(request_limit=None))
    took = time.perf_counter() - started
    assert result.output.startswith("All") and asked == rounds + 1, asked
    print(json.dumps({"rounds": rounds, "ms": took * 1000, "us_per_round": (took - model) * 1e6 / (rounds + 1)}))


asyncio.run(main())
