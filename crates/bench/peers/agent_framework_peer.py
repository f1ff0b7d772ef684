"""Runs a graph of waiting tasks on Microsoft's Agent Framework, without checkpoints: GRAPH.json REPEATS; a line of JSON each."""

import asyncio
import json
import sys
import time

from agent_framework import Executor, WorkflowBuilder, WorkflowContext, handler


class Begin(Executor):
    @handler
    async def begin(self, message: int, context: WorkflowContext[int]) -> None:
        await context.send_message(message)


class Single(Executor):
    def __init__(self, task, slots, done):
        super().__init__(id=task["id"])
        self.ms, self.slots, self.done = task["ms"], slots, done

    async def work(self, context):
        if self.ms:
            async with self.slots:
                await asyncio.sleep(self.ms / 1000)
        self.done.append(self.id)
        await context.send_message(1)

    @handler
    async def run(self, message: int, context: WorkflowContext[int]) -> None:
        await self.work(context)


class Joined(Single):
    @handler
    async def run_all(self, messages: list[int], context: WorkflowContext[int]) -> None:
        await self.work(context)


def built(graph, done):
    slots = asyncio.Semaphore(graph["slots"])
    begin = Begin(id="begin")
    nodes = {task["id"]: (Joined if len(task["after"]) > 1 else Single)(task, slots, done) for task in graph["tasks"]}
    builder = WorkflowBuilder(max_iterations=100_000, start_executor=begin)
    first = [nodes[task["id"]] for task in graph["tasks"] if not task["after"]]
    if len(first) > 1:
        builder.add_fan_out_edges(begin, first)
    else:
        builder.add_edge(begin, first[0])
    for task in graph["tasks"]:
        before = [nodes[name] for name in task["after"]]
        if len(before) > 1:
            builder.add_fan_in_edges(before, nodes[task["id"]])
        elif before:
            builder.add_edge(before[0], nodes[task["id"]])
    return builder.build()


async def main():
    graph = json.load(open(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        done = []
        workflow = built(graph, done)
        started = time.perf_counter()
        await workflow.run(1)
        took = time.perf_counter() - started
        assert len(done) == len(graph["tasks"]), len(done)
        print(json.dumps({"graph": graph["name"], "ms": took * 1000}), flush=True)


asyncio.run(main())
