"""Runs a graph of waiting tasks on LLMCompiler's task fetching unit, all of whose tasks are known: GRAPH.json REPEATS; a line of JSON each."""

import asyncio
import json
import sys
import time

from llama_index.agent.llm_compiler.schema import LLMCompilerTask
from llama_index.agent.llm_compiler.task_fetching_unit import TaskFetchingUnit
from llama_index.core.tools import FunctionTool


def unit(graph, done):
    slots = asyncio.Semaphore(graph["slots"])

    async def work(number: int, ms: int) -> str:
        if ms:
            async with slots:
                await asyncio.sleep(ms / 1000)
        done.append(number)
        return "done"

    tool = FunctionTool.from_defaults(async_fn=work)
    numbers = {task["id"]: number for number, task in enumerate(graph["tasks"])}
    tasks = {
        number: LLMCompilerTask(
            idx=number, name="work", tool=tool, args=[number, task["ms"]], dependencies=[numbers[name] for name in task["after"]]
        )
        for number, task in enumerate(graph["tasks"])
    }
    return TaskFetchingUnit.from_tasks(tasks)


async def main():
    graph = json.load(open(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        done = []
        scheduler = unit(graph, done)
        # No more tasks come. `schedule` would wait for all that run before it starts the next.
        queue = asyncio.Queue()
        queue.put_nowait(None)
        started = time.perf_counter()
        await scheduler.aschedule(queue)
        took = time.perf_counter() - started
        assert len(done) == len(graph["tasks"]), len(done)
        print(json.dumps({"graph": graph["name"], "ms": took * 1000}), flush=True)


asyncio.run(main())
