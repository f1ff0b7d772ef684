"""One agent of LangGraph with LangChain's OpenAI client, without a checkpointer: SERVER ROUNDS; a line of JSON."""

import time

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

import rounds


look = tool(rounds.look)


def built(base_url):
    chat = ChatOpenAI(model="scripted", base_url=base_url, api_key="none").bind_tools([look])

    async def model(state):
        return {"messages": [await chat.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([look]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    return builder.compile()


async def run(base_url, count):
    app = built(base_url)
    messages = [SystemMessage("Look at every page."), HumanMessage("Look")]
    started = time.perf_counter()
    state = await app.ainvoke({"messages": messages}, {"recursion_limit": 1_000_000})
    took = time.perf_counter() - started
    assert len(state["messages"]) == 3 + 2 * count, len(state["messages"])
    return took


rounds.measure(run)
