"""An agent of LangChain, which is a graph of LangGraph, with one tool; its steps are streamed."""

import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def write_product(a: int, b: int) -> str:
    """Write the product of two numbers to answer.txt, and return it."""
    line = f"product={a * b}"
    Path("answer.txt").write_text(line + "\n")
    return line


agent = create_agent(ChatOpenAI(model="gpt-5"), tools=[write_product])
for step in agent.stream({"messages": [("user", sys.argv[1])]}, stream_mode="updates"):
    for node, update in step.items():
        print(node, update["messages"][-1].text)
