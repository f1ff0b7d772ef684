"""A plan and its execution with LangGraph on a task of an evaluation.

`plan-and-execute` goes as LangGraph's tutorial of that name does: a plan, its first step by an agent, then an answer or the plan anew. `planning-flow` is how OpenManus's flow goes,
which no package registry has: a plan once, each step in turn by an agent that sees all of it, and a summary.
"""

import operator
import sys
from typing import Annotated, TypedDict

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from peer import API_KEY, BASE_URL, GOAL, MAX_OUTPUT_TOKENS, MODEL, STEPS, TEMPERATURE, TOOLS, OutOfSteps, run
from pydantic import BaseModel, Field


class Plan(BaseModel):
    """Steps that lead to the goal, in order."""

    steps: list[str] = Field(description="The steps to follow, in order.", max_length=8)


class Response(BaseModel):
    """Answer the user."""

    response: str


class Act(BaseModel):
    """What is to be done next."""

    action: Response | Plan = Field(description="To answer the user, a response. Where steps are still to be done, a plan.")


class Counting(BaseCallbackHandler):
    raise_error = True

    def __init__(self, usage):
        self.usage = usage

    def on_llm_end(self, response, **_):
        spent = getattr(response.generations[0][0].message, "usage_metadata", None) or {}
        self.usage.add(spent.get("input_tokens"), spent.get("output_tokens"))


class State(TypedDict):
    steps: list[str]
    past: Annotated[list[str], operator.add]
    done: bool
    response: str


def listed(lines):
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)) or "none"


def parts(usage):
    model = ChatOpenAI(
        model=MODEL,
        base_url=BASE_URL,
        api_key=API_KEY,
        temperature=TEMPERATURE,
        max_tokens=MAX_OUTPUT_TOKENS,
        callbacks=[Counting(usage)],
        timeout=600,
    )
    agent = create_agent(model, [tool(one, parse_docstring=True) for one in TOOLS])

    def execute(prompt):
        messages = []
        try:
            for state in agent.stream({"messages": [("user", prompt)]}, {"recursion_limit": 2 * STEPS}, stream_mode="values"):
                messages = state["messages"]
        except GraphRecursionError:
            # As OpenManus has it: the plan goes on with what there is.
            return f"Terminated: reached {STEPS} steps. Said last: {messages[-1].text if messages else 'nothing'}"
        return messages[-1].text

    def plan(prompt, form):
        return model.with_structured_output(form, method="json_schema").invoke(prompt)

    return model, execute, plan


FIRST = f"Make a simple plan for this goal, step by step. Each step must have all that is needed to do it; leave no step out and add none.\n\n{GOAL}"


def plan_and_execute(usage):
    _, execute, plan = parts(usage)

    def first(_):
        return {"steps": plan(FIRST, Plan).steps}

    def step(state):
        task = state["steps"][0] if state["steps"] else GOAL
        said = execute(f"For this plan:\n{listed(state['steps'])}\n\nyou do step 1: {task}")
        return {"past": [f"{task}: {said}"]}

    def again(state):
        act = plan(
            f"{FIRST}\n\nThe plan was:\n{listed(state['steps'])}\n\nDone so far:\n{listed(state['past'])}\n\n"
            "If no more steps are needed, answer the user. Else give a plan of only those steps that are still to be done, and none that was done.",
            Act,
        ).action
        if isinstance(act, Response):
            return {"done": True, "response": act.response}
        # A plan without a step has come to its end: what was said last is all there is to say.
        return {"steps": act.steps} if act.steps else {"done": True, "response": state["past"][-1]}

    graph = StateGraph(State)
    for name, node in [("plan", first), ("step", step), ("again", again)]:
        graph.add_node(name, node)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "step")
    graph.add_edge("step", "again")
    graph.add_conditional_edges("again", lambda state: END if state["done"] else "step")
    try:
        return graph.compile().invoke({"past": [], "done": False, "response": ""}, {"recursion_limit": 3 * STEPS})["response"]
    except GraphRecursionError as error:
        raise OutOfSteps from error


def planning_flow(usage):
    model, execute, plan = parts(usage)
    steps, done = plan(FIRST, Plan).steps or [GOAL], []
    for number, step in enumerate(steps, 1):
        status = "\n".join(f"[{'x' if at < number else ' '}] {at}. {line}" for at, line in enumerate(steps, 1))
        said = execute(f"The plan and how it stands:\n{status}\n\nYou are now working on step {number}: {step!r}. Do this step with your tools, and say what you did.")
        done.append(f"{step}: {said}")
    return model.invoke(f"The goal was:\n{GOAL}\n\nThe plan is done:\n{listed(done)}\n\nSum up what was done, with the answer where one was asked for.").text


run({"plan-and-execute": plan_and_execute, "planning-flow": planning_flow}[sys.argv[1]])
