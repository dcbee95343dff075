"""An agent of openai-agents with one tool."""

import sys
from pathlib import Path

from agents import Agent, Runner, function_tool


@function_tool
def write_product(a: int, b: int) -> str:
    """Write the product of two numbers to answer.txt, and return it."""
    line = f"product={a * b}"
    Path("answer.txt").write_text(line + "\n")
    return line


agent = Agent(name="clerk", instructions="Use the tool.", model="gpt-5", tools=[write_product])
print(Runner.run_sync(agent, sys.argv[1]).final_output)
