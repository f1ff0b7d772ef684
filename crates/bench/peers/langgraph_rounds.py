"""One agent of LangGraph whose model is a function in this process, without a checkpointer: ROUNDS; a line of JSON."""

import asyncio
import json
import sys
import time

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
async def look(page: int) -> str:
    """Gives a page of the part."""
    words = f"page {page} "
    return words * (400 // len(words))


async def main():
    rounds = int(sys.argv[1])
    asked = 0

    async def model(state):
        nonlocal asked
        asked += 1
        if asked > rounds:
            return {"messages": [AIMessage("All pages were looked at.")]}
        call = {"name": "look", "args": {"page": asked}, "id": f"c{asked}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

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
    print(json.dumps({"rounds": rounds, "ms": took * 1000, "us_per_round": took * 1e6 / (rounds + 1)}))


asyncio.run(main())
