"""An agent of OpenAI's client for Python, in small pieces: `openai_client.py SCENARIO PROMPT`."""

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor

import openai

import seen

MODEL = "gpt-5"
UNICODE = "Grüße an Ωμέγα, 日本語, עברית, e\u0301, 👩🏽‍🚀, \u202e\u0000\u2028 und \"\\/\t\r\n"
TOOL = {
    "name": "lookup",
    "description": "Looks something up",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def user(text):
    return [{"role": "user", "content": text}]


def chat(client, text, **options):
    return client.chat.completions.create(model=MODEL, messages=user(text), **options)


def plain(prompt):
    with openai.OpenAI() as client:
        raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=user(prompt))
        seen.headers("chat", raw.headers)
        seen.whole("chat", raw.parse())
        raw = client.responses.with_raw_response.create(model=MODEL, input=prompt)
        seen.headers("response", raw.headers)
        seen.whole("response", raw.parse())
        seen.say("request id", raw.parse()._request_id)
        seen.say("models", [model.id for model in client.models.list()])


def stream(prompt):
    with openai.OpenAI() as client:
        with client.responses.stream(model=MODEL, input=prompt) as events:
            for event in events:
                seen.say("response event", event.type)
            seen.whole("response", events.get_final_response())
        for event in client.responses.create(model=MODEL, input=prompt + " Again.", stream=True):
            seen.whole("response event", event)
        options = {"stream_options": {"include_usage": True}}
        raw = client.chat.completions.with_raw_response.create(
            model=MODEL, messages=user(prompt), stream=True, **options
        )
        seen.headers("chat", raw.headers)
        for chunk in raw.parse():
            seen.whole("chat chunk", chunk)
        with client.chat.completions.stream(model=MODEL, messages=user(prompt), **options) as events:
            for event in events:
                seen.say("chat event", event.type)
            seen.whole("chat", events.get_final_completion())


def parallel(prompt):
    with openai.OpenAI() as client, ThreadPoolExecutor(16) as threads:
        ask = lambda number: chat(client, f"together {number}: {prompt}")
        for number, completion in enumerate(threads.map(ask, range(16))):
            seen.whole(f"call {number}", completion)


def tools(prompt):
    with openai.OpenAI() as client:
        items = user(prompt)
        while True:
            response = client.responses.create(model=MODEL, input=items, tools=[{"type": "function", **TOOL}])
            seen.whole("response", response)
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                break
            items += [item.model_dump(exclude_none=True) for item in response.output]
            items += [
                {"type": "function_call_output", "call_id": call.call_id, "output": looked_up(call.arguments)}
                for call in calls
            ]
        messages = user(prompt)
        while True:
            stream = client.chat.completions.stream(
                model=MODEL, messages=messages, tools=[{"type": "function", "function": TOOL}]
            )
            with stream as events:
                completion = events.get_final_completion()
            seen.whole("chat", completion)
            message = completion.choices[0].message
            if not message.tool_calls:
                break
            messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
            for call in message.tool_calls:
                output = looked_up(call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})


def looked_up(arguments):
    return f"42 is the answer to {json.loads(arguments)['query']}"


def errors(prompt):
    with openai.OpenAI() as client:
        for status in [400, 401, 429, 500]:
            try:
                chat(client, f"fail {status}: {prompt}")
            except openai.APIStatusError as error:
                seen.error(f"fail {status}", error)
        seen.whole("busy", chat(client, f"busy twice: {prompt}"))
        try:
            client.responses.create(model=MODEL, input=f"fail 400: {prompt}", stream=True)
        except openai.BadRequestError as error:
            seen.error("response", error)
        try:
            for event in client.responses.create(model=MODEL, input=f"break down: {prompt}", stream=True):
                seen.say("response event", event.type)
        except openai.APIError as error:
            seen.error("response", error)


def cut(prompt):
    with openai.OpenAI() as client:
        try:
            for chunk in chat(client, f"cut after 3: {prompt}", stream=True):
                seen.whole("chat chunk", chunk)
        except Exception as error:
            seen.error("chat", error)
        try:
            for event in client.responses.create(model=MODEL, input=f"cut after 5: {prompt}", stream=True):
                seen.whole("response event", event)
        except Exception as error:
            seen.error("response", error)
        for broken in ["cut after 0", "hang up"]:
            try:
                chat(client, f"{broken}: {prompt}")
            except openai.APIConnectionError as error:
                seen.error(broken, error)


def big(prompt):
    text = prompt + " Привет, мир." * 230_000
    with openai.OpenAI() as client:
        seen.digest("prompt", text)
        seen.digest("chat", chat(client, text).choices[0].message.content)
        deltas = [chunk.choices[0].delta.content for chunk in chat(client, text, stream=True) if chunk.choices]
        seen.digest("stream", "".join(delta for delta in deltas if delta))


def unicode(prompt):
    with openai.OpenAI() as client:
        completion = chat(client, prompt + UNICODE, user="Jürgen 🦀")
        seen.whole("chat", completion)
        for event in client.responses.create(model=MODEL, input=prompt + UNICODE, stream=True):
            seen.whole("response event", event)


def encodings(prompt):
    with openai.OpenAI() as client:
        for encoding in ["gzip", "deflate", "br", "zstd", "gzip+gzip"]:
            said = f"as {encoding}: {prompt}"
            raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=user(said))
            seen.headers(encoding, raw.headers)
            seen.whole(encoding, raw.parse())
            for chunk in chat(client, said, stream=True):
                seen.whole(f"{encoding} chunk", chunk)


def secrets(prompt):
    query = os.environ["PLANTED_IN_QUERY"]
    said = f"{prompt} {os.environ['PLANTED_IN_BODY']} and {os.environ['DATABASE_PASSWORD']}"
    with openai.OpenAI() as client:
        seen.whole("chat", chat(client, f"tell nobody: {said}", extra_query={"api_key": query}))
        told = client.responses.create(model=MODEL, input=f"tell nobody: {said}", extra_query={"sig": query})
        seen.whole("response", told)
        for chunk in chat(client, said, stream=True):
            seen.whole("chat chunk", chunk)


def asynchronous(prompt):
    async def work():
        async with openai.AsyncOpenAI() as client:
            seen.whole("chat", await chat(client, prompt))
            async for chunk in await chat(client, prompt, stream=True):
                seen.whole("chat chunk", chunk)
            async with client.responses.stream(model=MODEL, input=prompt) as events:
                seen.whole("response", await events.get_final_response())
            calls = [chat(client, f"together {number}: {prompt}") for number in range(16)]
            for number, completion in enumerate(await asyncio.gather(*calls)):
                seen.whole(f"call {number}", completion)

    asyncio.run(work())


SCENARIOS = [plain, stream, parallel, tools, errors, cut, big, unicode, encodings, secrets, asynchronous]

if __name__ == "__main__":
    seen.run({scenario.__name__: scenario for scenario in SCENARIOS})
