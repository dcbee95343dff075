"""Agents under an envelope, with all vendors' clients for Python: what they raise when a model or a tool is denied."""

import anthropic
import openai
from google import genai

import seen

CHAT_TOOL = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object", "properties": {}}}}
TOOL = {"name": "lookup", "input_schema": {"type": "object", "properties": {}}}


def user(text):
    return [{"role": "user", "content": text}]


def denied(name, work):
    """Says how far it came, and what it broke with."""
    try:
        result = work()
        for piece in result:
            seen.say(name, type(piece).__name__)
    except Exception as error:
        seen.error(name, error)
        return
    seen.say(name, "was not denied")


def openai_agent(prompt):
    with openai.OpenAI() as client:
        chat = client.chat.completions.create
        denied("chat model", lambda: chat(model="o3", messages=user(prompt)))
        denied("chat model stream", lambda: chat(model="o3", messages=user(prompt), stream=True))
        denied("chat tool", lambda: chat(model="gpt-5", messages=user(prompt), tools=[CHAT_TOOL]))
        denied("chat tool stream", lambda: chat(model="gpt-5", messages=user(prompt), tools=[CHAT_TOOL], stream=True))
        respond = client.responses.create
        tools = [{"type": "function", "name": "lookup", "parameters": {}, "strict": False}]
        denied("response tool", lambda: respond(model="gpt-5", input=prompt, tools=tools))
        denied("response tool stream", lambda: respond(model="gpt-5", input=prompt, tools=tools, stream=True))


def anthropic_agent(prompt):
    with anthropic.Anthropic() as client:
        ask = client.messages.create
        rest = {"max_tokens": 64, "messages": user(prompt)}
        denied("message model", lambda: ask(model="claude-other", **rest))
        denied("message model stream", lambda: ask(model="claude-other", stream=True, **rest))
        denied("message tool", lambda: ask(model="claude-testkit", tools=[TOOL], **rest))
        denied("message tool stream", lambda: ask(model="claude-testkit", tools=[TOOL], stream=True, **rest))


def google_agent(prompt):
    with genai.Client() as client:
        tools = {"tools": [{"function_declarations": [{"name": "lookup"}]}]}
        ask, stream = client.models.generate_content, client.models.generate_content_stream
        denied("content model", lambda: ask(model="gemini-other", contents=prompt))
        denied("content model stream", lambda: stream(model="gemini-other", contents=prompt))
        denied("content tool", lambda: ask(model="gemini-testkit", contents=prompt, config=tools))
        denied("content tool stream", lambda: stream(model="gemini-testkit", contents=prompt, config=tools))


def denials(prompt):
    openai_agent(prompt)
    anthropic_agent(prompt)
    google_agent(prompt)


if __name__ == "__main__":
    seen.run({"denials": denials})
