"""One agent of LangGraph whose model is a function in this process, without a checkpointer: ROUNDS; a line of JSON."""

import asyncio
import json
import sys
import time

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
async def look(page: int) -> str:
    """Gives a page of the part."""
    words = f"page {page} "
    return words * (400 // len(words))


def weight(message):
    """The bytes of a message: its text, and the names of tools and what they are given."""
    calls = getattr(message, "tool_calls", [])
    return len(message.content) + sum(len(call["name"]) + len(json.dumps(call["args"])) for call in calls)


async def main():
    rounds = int(sys.argv[1])
    asked = sent = 0
    of_model = 0.0
    told = convert_to_openai_tool(look)["function"]
    tools = len(told["name"]) + len(told["description"]) + len(json.dumps(told["parameters"]))

    async def model(state):
        nonlocal asked, sent, of_model
        begun = time.perf_counter()
        asked += 1
        sent += tools + sum(weight(message) for message in state["messages"])
        call = {"name": "look", "args": {"page": asked}, "id": f"c{asked}"}
        answer = AIMessage("All pages were looked at.") if asked > rounds else AIMessage("", tool_calls=[call])
        of_model += time.perf_counter() - begun
        return {"messages": [answer]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([look]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    app = builder.compile()
    started = time.perf_counter()
    messages = [SystemMessage("Look at every page."), HumanMessage("Look")]
    state = await app.ainvoke({"messages": messages}, {"recursion_limit": 1_000_000})
    took = time.perf_counter() - started
    assert len(state["messages"]) == 3 + 2 * rounds, len(state["messages"])
    per_round = (took - of_model) * 1e6 / (rounds + 1)
    print(json.dumps({"rounds": rounds, "ms": took * 1000, "us_per_round": per_round, "requests": asked, "prompt_tokens": sent // 4}))


asyncio.run(main())
