"""An agent of smolagents with one tool."""

import sys
from pathlib import Path

from smolagents import OpenAIModel, ToolCallingAgent, tool


@tool
def write_product(a: int, b: int) -> str:
    """Write the product of two numbers to answer.txt, and return it.

    Args:
        a: The first number.
        b: The second number.
    """
    line = f"product={a * b}"
    Path("answer.txt").write_text(line + "\n")
    return line


agent = ToolCallingAgent(model=OpenAIModel(model_id="gpt-5"), tools=[write_product], max_steps=4, verbosity_level=0)
print(agent.run(sys.argv[1]))
