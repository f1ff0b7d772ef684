"""smolagents' CodeAgent on a task of an evaluation, as its guide sets it up."""

from peer import API_KEY, BASE_URL, GOAL, MAX_OUTPUT_TOKENS, MODEL, STEPS, TEMPERATURE, TOOLS, OutOfSteps, run
from smolagents import CodeAgent, OpenAIServerModel, tool


def act(usage):
    def count(step, agent=None):
        spent = getattr(step, "token_usage", None)
        usage.add(getattr(spent, "input_tokens", 0), getattr(spent, "output_tokens", 0))

    limits = {"max_tokens": MAX_OUTPUT_TOKENS} if MAX_OUTPUT_TOKENS else {}
    model = OpenAIServerModel(model_id=MODEL, api_base=BASE_URL, api_key=API_KEY, temperature=TEMPERATURE, **limits)
    agent = CodeAgent(tools=[tool(one) for one in TOOLS], model=model, max_steps=STEPS, verbosity_level=0, step_callbacks=[count])
    result = agent.run(GOAL, return_full_result=True)
    if result.state == "max_steps_error":
        raise OutOfSteps(result.output)
    return result.output


run(act)
