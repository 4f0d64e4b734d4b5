"""An MCP server on standard input and output without the SDK, which takes long to import.

It has few tools, and knows of the protocol what a client asks of such a server.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

EMPTY = {"type": "object", "properties": {}}
TOOLS = {
    "add": lambda given: int(given["a"]) + int(given.get("b", 1)),
    "environment": lambda given: os.environ.get(given["name"], "not there"),
    "pid": lambda given: os.getpid(),
    "sleep": lambda given: time.sleep(given["seconds"]),
    "leave": lambda given: os._exit(3),
    "hold": lambda given: hold(given["file"]),
    "latin": lambda given: "umlaut",
    "request": lambda given: "answered",
    "half": lambda given: "a\ud83db",
    "large": lambda given: "x" * given["size"],
    "nested": lambda given: None,
    "noise": lambda given: print("loading ...\n{not json", flush=True),
}


def hold(file: str) -> None:
    """Writes a file once the call has begun, and runs longer than any test."""
    Path(file).touch()
    time.sleep(600)


def nested(depth: int) -> list[Any]:
    """Lists in lists."""
    return [nested(depth - 1)] if depth else []


def answer(method: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for what this server does not know."""
    if method == "initialize":
        return {
            "protocolVersion": given["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
    if method == "tools/list":
        plain = [{"name": name, "inputSchema": EMPTY} for name in TOOLS]
        counted = {"properties": {"n": {"type": "integer"}}, "required": ["n"], "type": "object"}
        count = {"name": "count", "inputSchema": EMPTY, "outputSchema": counted}
        return {"tools": [*plain, count, {"name": "picture", "inputSchema": {}}]}
    if method == "tools/call" and given["name"] == "picture":
        image = {"type": "image", "data": "eA==", "mimeType": "image/png"}
        return {"content": [{"type": "text", "text": "no such page"}, image], "isError": True}
    if method == "tools/call" and "deep" in given["arguments"]:
        return {"content": [], "structuredContent": {"n": nested(given["arguments"]["deep"])}}
    if method == "tools/call" and given["name"] == "count":
        found = given["arguments"].get("n", 0)
        return {
            "content": [{"type": "text", "text": str(found)}],
            "structuredContent": {"n": found},
        }
    if method == "tools/call":
        text = str(TOOLS[given["name"]](given["arguments"]))
        return {"content": [{"type": "text", "text": text}]}
    return {} if method == "ping" else None


def main() -> None:
    if "--broken" in sys.argv:
        print("the key SHOP_KEY is missing", file=sys.stderr)
        sys.exit(4)
    if "--silent" in sys.argv:
        print(f"process {os.getpid()}", file=sys.stderr, flush=True)
        time.sleep(600)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        if request.get("params", {}).get("name") == "nested":
            deep = request["params"]["arguments"]["deep"]
            print(f'{{"id": {request["id"]}, "result": {"[" * deep}{"]" * deep}}}', flush=True)
            continue
        result = answer(request["method"], request.get("params") or {})
        if result is None:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        else:
            reply["result"] = result
        if request.get("params", {}).get("name") == "request":
            # Of the server, with the number of the call, and unreadable to the SDK.
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "method": 5}), flush=True)
        line = json.dumps(reply).encode()
        if request.get("params", {}).get("name") == "latin":
            line = line.replace(b"umlaut", "\xfc".encode("latin-1"))
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
