"""An agent of pydantic-ai with one tool."""

import sys
from pathlib import Path

from pydantic_ai import Agent

agent = Agent("anthropic:claude-sonnet-4-5", instructions="Use the tool.")


@agent.tool_plain
def write_product(a: int, b: int) -> str:
    """Write the product of two numbers to answer.txt, and return it."""
    line = f"product={a * b}"
    Path("answer.txt").write_text(line + "\n")
    return line


print(agent.run_sync(sys.argv[1]).output)
