"""One agent of Pydantic AI whose model is a function in this process, without instrumentation: ROUNDS; a line of JSON."""

import asyncio
import json
import sys
import time

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits


def weight(part):
    """The bytes of a part of a message: its text, or the name of a tool and what it is given."""
    return len(part.tool_name) + len(part.args_as_json_str()) if isinstance(part, ToolCallPart) else len(part.content)


async def main():
    rounds = int(sys.argv[1])
    asked = sent = 0
    model = 0.0

    # Asynchronous, and with its tokens: else each call would go to another thread, and the whole history would be counted for it.
    async def answer(messages, info):
        nonlocal asked, sent, model
        begun = time.perf_counter()
        asked += 1
        sent += sum(weight(part) for message in messages for part in message.parts)
        sent += sum(len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters_json_schema)) for tool in info.function_tools)
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
        """Gives a page of the part."""
        words = f"page {page} "
        return words * (400 // len(words))

    started = time.perf_counter()
    result = await agent.run("Look", usage_limits=UsageLimits(request_limit=None))
    took = time.perf_counter() - started
    assert result.output.startswith("All") and asked == rounds + 1, asked
    per_round = (took - model) * 1e6 / (rounds + 1)
    print(json.dumps({"rounds": rounds, "ms": took * 1000, "us_per_round": per_round, "requests": asked, "prompt_tokens": sent // 4}))


asyncio.run(main())
