"""An agent of Anthropic's client for Python, in small pieces: `anthropic_client.py SCENARIO PROMPT`."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import anthropic

import seen

ASK = {"model": "claude-testkit", "max_tokens": 1024}
UNICODE = "Grüße an Ωμέγα, 日本語, עברית, e\u0301, 👩🏽‍🚀, \u202e\u0000\u2028 und \"\\/\t\r\n"
TOOL = {
    "name": "lookup",
    "description": "Looks something up",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def user(text):
    return [{"role": "user", "content": text}]


def ask(client, text, **options):
    return client.messages.create(messages=user(text), **ASK, **options)


def plain(prompt):
    with anthropic.Anthropic() as client:
        raw = client.messages.with_raw_response.create(messages=user(prompt), **ASK)
        seen.headers("message", raw.headers)
        seen.whole("message", raw.parse())
        seen.say("request id", raw.parse()._request_id)
        seen.whole("count", client.messages.count_tokens(model=ASK["model"], messages=user(prompt)))
        seen.say("models", [model.id for model in client.models.list()])


def stream(prompt):
    with anthropic.Anthropic() as client:
        with client.messages.stream(messages=user(prompt), **ASK) as events:
            seen.headers("message", events.response.headers)
            for event in events:
                seen.say("helper event", event.type)
            seen.whole("message", events.get_final_message())
        with client.messages.stream(messages=user(prompt + " Again."), **ASK) as events:
            seen.say("texts", list(events.text_stream))
        for event in ask(client, prompt, stream=True):
            seen.whole("event", event)


def parallel(prompt):
    with anthropic.Anthropic() as client, ThreadPoolExecutor(16) as threads:
        call = lambda number: ask(client, f"together {number}: {prompt}")
        for number, message in enumerate(threads.map(call, range(16))):
            seen.whole(f"call {number}", message)


def tools(prompt):
    with anthropic.Anthropic() as client:
        messages = user(prompt)
        while True:
            with client.messages.stream(messages=messages, tools=[TOOL], **ASK) as events:
                message = events.get_final_message()
            seen.whole("message", message)
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                break
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": f"42 is the answer to {call.input['query']}",
                }
                for call in calls
            ]
            content = [block.to_dict() for block in message.content]
            messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]


def errors(prompt):
    with anthropic.Anthropic() as client:
        for status in [400, 401, 429, 500]:
            try:
                ask(client, f"fail {status}: {prompt}")
            except anthropic.APIStatusError as error:
                seen.error(f"fail {status}", error)
        seen.whole("busy", ask(client, f"busy twice: {prompt}"))
        try:
            ask(client, f"fail 400: {prompt}", stream=True)
        except anthropic.BadRequestError as error:
            seen.error("stream", error)
        try:
            for event in ask(client, f"break down: {prompt}", stream=True):
                seen.say("event", event.type)
        except anthropic.APIError as error:
            seen.error("stream", error)


def cut(prompt):
    with anthropic.Anthropic() as client:
        try:
            for event in ask(client, f"cut after 4: {prompt}", stream=True):
                seen.whole("event", event)
        except Exception as error:
            seen.error("stream", error)
        try:
            with client.messages.stream(messages=user(f"cut after 3: {prompt}"), **ASK) as events:
                for text in events.text_stream:
                    seen.say("text", text)
        except Exception as error:
            seen.error("helper", error)
        for broken in ["cut after 0", "hang up"]:
            try:
                ask(client, f"{broken}: {prompt}")
            except anthropic.APIConnectionError as error:
                seen.error(broken, error)


def big(prompt):
    text = prompt + " Привет, мир." * 230_000
    with anthropic.Anthropic() as client:
        seen.digest("prompt", text)
        seen.digest("message", ask(client, text).content[0].text)
        with client.messages.stream(messages=user(text), **ASK) as events:
            seen.digest("stream", "".join(events.text_stream))


def unicode(prompt):
    with anthropic.Anthropic() as client:
        seen.whole("message", ask(client, prompt + UNICODE, system="Jürgen 🦀"))
        for event in ask(client, prompt + UNICODE, stream=True):
            seen.whole("event", event)


def encodings(prompt):
    with anthropic.Anthropic() as client:
        for encoding in ["gzip", "deflate", "br", "zstd", "gzip+gzip"]:
            said = f"as {encoding}: {prompt}"
            raw = client.messages.with_raw_response.create(messages=user(said), **ASK)
            seen.headers(encoding, raw.headers)
            seen.whole(encoding, raw.parse())
            for event in ask(client, said, stream=True):
                seen.whole(f"{encoding} event", event)


def secrets(prompt):
    query = os.environ["PLANTED_IN_QUERY"]
    said = f"{prompt} {os.environ['PLANTED_IN_BODY']} and {os.environ['DATABASE_PASSWORD']}"
    with anthropic.Anthropic() as client:
        seen.whole("message", ask(client, f"tell nobody: {said}", extra_query={"api_key": query}))
        seen.whole("message", ask(client, f"tell nobody: {said}", extra_query={"sig": query}))
        for event in ask(client, said, stream=True):
            seen.whole("event", event)


def asynchronous(prompt):
    async def work():
        async with anthropic.AsyncAnthropic() as client:
            seen.whole("message", await ask(client, prompt))
            async for event in await ask(client, prompt, stream=True):
                seen.whole("event", event)
            async with client.messages.stream(messages=user(prompt), **ASK) as events:
                seen.whole("message", await events.get_final_message())
            calls = [ask(client, f"together {number}: {prompt}") for number in range(16)]
            for number, message in enumerate(await asyncio.gather(*calls)):
                seen.whole(f"call {number}", message)

    asyncio.run(work())


SCENARIOS = [plain, stream, parallel, tools, errors, cut, big, unicode, encodings, secrets, asynchronous]

if __name__ == "__main__":
    seen.run({scenario.__name__: scenario for scenario in SCENARIOS})
