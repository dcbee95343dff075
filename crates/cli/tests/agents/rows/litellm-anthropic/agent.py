"""A loop of one's own around LiteLLM, with one tool."""

import json
import sys
from pathlib import Path

import litellm

TOOL = {
    "type": "function",
    "function": {
        "name": "write_product",
        "description": "Write the product of two numbers to answer.txt, and return it.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}


def write_product(a: int, b: int) -> str:
    line = f"product={a * b}"
    Path("answer.txt").write_text(line + "\n")
    return line


messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    answer = litellm.completion(model="anthropic/claude-sonnet-4-5", messages=messages, tools=[TOOL]).choices[0].message
    messages.append(answer)
    if not answer.tool_calls:
        break
    for call in answer.tool_calls:
        result = write_product(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
print(answer.content)
