"""What the peers of an evaluation share: the goal, tools for the working folder, and the result as aime tells it."""

import json
import os
import pathlib
import subprocess
import sys
import threading

import openai

GOAL = pathlib.Path(os.environ["GOAL_FILE"]).read_text(encoding="utf-8")
BASE_URL = os.environ["OPENAI_BASE_URL"]
API_KEY = os.environ.get("OPENAI_API_KEY") or "none"
MODEL = os.environ.get("AIME_MODEL") or "default"
MAX_TOKENS = int(os.environ.get("MAX_TOKENS") or 0)
# Whoever comes to the end of the time tells what was used until then.
SECONDS = int(os.environ.get("TIMEOUT_SECONDS") or 0)
BEFORE_THE_END = 5
# What aime is told of one answer of the model holds for its peers too.
MAX_OUTPUT_TOKENS = int(os.environ.get("MAX_OUTPUT_TOKENS") or 0) or None
# How often one actor of aime asks its model, at most, and how freely the model answers.
STEPS = 20
TEMPERATURE = 0.2
SHOWN = 8_000


class OutOfTokens(Exception):
    """The bound of tokens is reached."""


class OutOfSteps(Exception):
    """An agent came to the end of its steps, with what it answered all the same."""


class Usage:
    """What was used of the model."""

    def __init__(self):
        self.requests = self.input = self.output = 0

    def add(self, given, answered):
        self.requests += 1
        self.input += given or 0
        self.output += answered or 0
        if MAX_TOKENS and self.input + self.output > MAX_TOKENS:
            raise OutOfTokens


def list_files(folder: str) -> str:
    """Lists the files of a folder and of those below it.

    Args:
        folder: The folder, relative to the working folder; "." for the working folder itself.
    """
    files = [str(path) for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()]
    return "\n".join(files)[:SHOWN] or "there are none"


def read_file(path: str) -> str:
    """Reads a text file.

    Args:
        path: Its path, relative to the working folder.
    """
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")[:SHOWN]
    except OSError as error:
        return f"Error: {error}"


def write_file(path: str, content: str) -> str:
    """Writes a text file, over what is there.

    Args:
        path: Its path, relative to the working folder.
        content: The whole text.
    """
    try:
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(content, encoding="utf-8")
        return f"{path} is written"
    except OSError as error:
        return f"Error: {error}"


def run_command(command: str) -> str:
    """Runs a command of bash in the working folder, for two minutes at most, and gives what it prints.

    Args:
        command: The command.
    """
    try:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, errors="replace", timeout=120, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "Error: it took longer than two minutes"
    return f"{(done.stdout + done.stderr)[:SHOWN]}\nexit code {done.returncode}"


TOOLS = [list_files, read_file, write_file, run_command]


def is_of_the_model(error):
    """Whether the model could not be used, which says nothing of who asked it: peers wrap what the client raises."""
    seen = set()
    while error and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, openai.APIError):
            return not isinstance(error, openai.BadRequestError)
        error = error.__cause__ or error.__context__
    return False


def run(act):
    """Runs `act`, which is given the usage to count in and gives its answer; prints the result and ends as a run of aime does."""
    usage = Usage()

    def end(answer, code):
        used = {"requests": usage.requests, "input_tokens": usage.input, "output_tokens": usage.output}
        print("\n" + json.dumps({"schema": "aime.result/v1", "answer": answer, "usage": used}), flush=True)
        # Other threads may wait for the model.
        os._exit(code)

    if SECONDS:
        clock = threading.Timer(max(SECONDS - BEFORE_THE_END, 1), end, ["", 4])
        clock.daemon = True
        clock.start()
    answer, code = "", 0
    try:
        answer = str(act(usage))
    except OutOfTokens:
        code = 4
    except OutOfSteps as error:
        answer, code = str(error), 4
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        code = 3 if is_of_the_model(error) else 1
    end(answer, code)
