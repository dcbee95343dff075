"""An agent of Google's client for Python, in small pieces: `google_client.py SCENARIO PROMPT`."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

from google import genai
from google.genai import errors as failures
from google.genai import types

import seen

MODEL = "gemini-testkit"
# Without U+2028, which this client takes for the end of a line of its stream.
UNICODE = "Grüße an Ωμέγα, 日本語, עברית, e\u0301, 👩🏽‍🚀, \u202e\u0000 und \"\\/\t\r\n"
TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="lookup",
            description="Looks something up",
            parameters_json_schema={"type": "object", "properties": {"query": {"type": "string"}}},
        )
    ]
)


def whole(name, response):
    """All that an answer says; its headers have the minute in them."""
    seen.say(name, response.model_dump(mode="json", exclude={"sdk_http_response"}))


def ask(client, contents, **config):
    return client.models.generate_content(model=MODEL, contents=contents, config=config or None)


def ask_stream(client, contents, **config):
    return client.models.generate_content_stream(model=MODEL, contents=contents, config=config or None)


def plain(prompt):
    with genai.Client() as client:
        whole("content", ask(client, prompt, system_instruction="Be brief."))
        whole("count", client.models.count_tokens(model=MODEL, contents=prompt))
        whole("embedding", client.models.embed_content(model=MODEL, contents=prompt))
        seen.say("models", [model.name for model in client.models.list()])


def stream(prompt):
    with genai.Client() as client:
        for chunk in ask_stream(client, prompt):
            whole("chunk", chunk)
        chat = client.chats.create(model=MODEL)
        for said in [prompt, "Again."]:
            seen.say("chat", "".join(chunk.text or "" for chunk in chat.send_message_stream(said)))


def parallel(prompt):
    with genai.Client() as client, ThreadPoolExecutor(16) as threads:
        together = lambda number: ask(client, f"together {number}: {prompt}")
        for number, response in enumerate(threads.map(together, range(16))):
            whole(f"call {number}", response)


def tools(prompt):
    with genai.Client() as client:
        contents = [types.Content(role="user", parts=[types.Part(text=prompt)])]
        while True:
            response = ask(client, contents, tools=[TOOL])
            whole("content", response)
            if not response.function_calls:
                break
            contents += [response.candidates[0].content, looked_up(response.function_calls)]
        contents = [types.Content(role="user", parts=[types.Part(text=prompt + " Again.")])]
        while True:
            parts = []
            for chunk in ask_stream(client, contents, tools=[TOOL]):
                whole("chunk", chunk)
                parts += chunk.candidates[0].content.parts or []
            calls = [part.function_call for part in parts if part.function_call]
            if not calls:
                break
            contents += [types.Content(role="model", parts=parts), looked_up(calls)]


def looked_up(calls):
    results = [{"result": f"42 is the answer to {call.args['query']}"} for call in calls]
    parts = [
        types.Part.from_function_response(name=call.name, response=result) for call, result in zip(calls, results)
    ]
    return types.Content(role="user", parts=parts)


def errors(prompt):
    with genai.Client() as client:
        for status in [400, 401, 429, 500]:
            try:
                ask(client, f"fail {status}: {prompt}")
            except failures.APIError as error:
                seen.error(f"fail {status}", error)
        try:
            for chunk in ask_stream(client, f"break down: {prompt}"):
                whole("chunk", chunk)
        except failures.APIError as error:
            seen.error("stream", error)


def big(prompt):
    text = prompt + " Привет, мир." * 230_000
    with genai.Client() as client:
        seen.digest("prompt", text)
        seen.digest("content", ask(client, text).text)
        seen.digest("stream", "".join(chunk.text or "" for chunk in ask_stream(client, text)))


def unicode(prompt):
    with genai.Client() as client:
        whole("content", ask(client, prompt + UNICODE, system_instruction="Jürgen 🦀"))
        for chunk in ask_stream(client, prompt + UNICODE):
            whole("chunk", chunk)


def secrets(prompt):
    said = f"{prompt} {os.environ['PLANTED_IN_BODY']} and {os.environ['DATABASE_PASSWORD']}"
    with genai.Client() as client:
        whole("content", ask(client, f"tell nobody: {said}"))
        for chunk in ask_stream(client, said):
            whole("chunk", chunk)


def asynchronous(prompt):
    async def work():
        client = genai.Client().aio
        whole("content", await client.models.generate_content(model=MODEL, contents=prompt))
        async for chunk in await client.models.generate_content_stream(model=MODEL, contents=prompt):
            whole("chunk", chunk)

    asyncio.run(work())


SCENARIOS = [plain, stream, parallel, tools, errors, big, unicode, secrets, asynchronous]

if __name__ == "__main__":
    seen.run({scenario.__name__: scenario for scenario in SCENARIOS})
