"""What a client has seen, as lines that are the same each time."""

import hashlib
import json
import sys

# What belongs to the connection or to the minute, and not to the answer.
PASSING = {"connection", "date", "keep-alive", "transfer-encoding"}


def say(name, value):
    """One line: a name, and a value as JSON."""
    sys.stdout.write(f"{name} {json.dumps(value, ensure_ascii=False, sort_keys=True)}\n")


def whole(name, model):
    """All members of what a client gives."""
    say(name, model.model_dump(mode="json"))


def headers(name, headers):
    """All headers of an answer."""
    for header, value in sorted((header.lower(), value) for header, value in headers.multi_items()):
        if header not in PASSING:
            say(f"{name} header {header}", value)


def digest(name, text):
    """A text that is too long to print."""
    say(name, {"bytes": len(text.encode()), "sha256": hashlib.sha256(text.encode()).hexdigest()})


def error(name, error):
    """An exception: its kind, its words, and what the client read out of the answer."""
    said = {"kind": type(error).__name__, "text": str(error), "cause": type(error.__cause__).__name__}
    for member in ["status_code", "request_id", "body"]:
        said[member] = getattr(error, member, None)
    say(name, said)


def run(scenarios):
    """Runs the scenario that the first argument names; the second is what the user says in it."""
    if sys.argv[1:] == ["--list"]:
        sys.stdout.write("".join(f"{name}\n" for name in scenarios))
        return
    name, prompt = sys.argv[1], sys.argv[2]
    scenarios[name](prompt)
