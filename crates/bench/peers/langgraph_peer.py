"""Runs a graph of waiting tasks on LangGraph, without a checkpointer: GRAPH.json REPEATS; a line of JSON each."""

import asyncio
import json
import operator
import sys
import time
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    done: Annotated[int, operator.add]


def node(ms):
    async def run(_state):
        if ms:
            await asyncio.sleep(ms / 1000)
        return {"done": 1}

    return run


def compiled(graph):
    builder = StateGraph(State)
    ends = {task["id"] for task in graph["tasks"]} - {before for task in graph["tasks"] for before in task["after"]}
    for task in graph["tasks"]:
        builder.add_node(task["id"], node(task["ms"]))
        after = task["after"]
        # Several edges into a node would start it once for each; a list waits for all of them.
        builder.add_edge(after if len(after) > 1 else (after[0] if after else START), task["id"])
    builder.add_edge(sorted(ends), END)
    return builder.compile()


async def main():
    graph = json.load(open(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        app = compiled(graph)
        started = time.perf_counter()
        state = await app.ainvoke({"done": 0}, {"max_concurrency": graph["slots"], "recursion_limit": 100_000})
        took = time.perf_counter() - started
        assert state["done"] == len(graph["tasks"]), state
        print(json.dumps({"graph": graph["name"], "ms": took * 1000}), flush=True)


asyncio.run(main())
