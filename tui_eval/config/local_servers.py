"""Model servers that answer on this machine, to be offered where a model is not found."""

from __future__ import annotations

import http.client
import json
import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

ANSWERS_WITHIN_S = 0.5
READS_AT_MOST = 1_000_000
NAMES_AT_MOST = 3

LOCAL_SERVERS: list[tuple[int, str]] = [
    (8000, "vLLM"),
    (30000, "SGLang"),
    (11434, "Ollama"),
    (1234, "LM Studio"),
]
"""The ports at which servers listen by default."""


class LocalServer(msgspec.Struct, frozen=True):
    """A server that answered.

    Args:
        name: Name of the program that usually listens there.
        models: The names under which it serves, in its order.
    """

    port: int
    name: str
    models: list[str]

    def offer(self, wanted: str, flag: str = "-m", *, in_file: bool = False) -> str:
        """One sentence that says what it serves and what to type for it.

        Args:
            flag: Flag that names the model.
            in_file: It is to be written into a file of evaluations.
        """
        url = f"http://localhost:{self.port}"
        has_it = wanted in self.models
        model = wanted if has_it else self.models[0]
        shown = [wanted] if has_it else self.models[:NAMES_AT_MOST]
        names = ", ".join(f"{one!r}" for one in shown)
        more = "" if has_it or len(self.models) <= NAMES_AT_MOST else " and others"
        written = f'api_base_url = "{url}/v1" and model = {json.dumps(model)}'
        reported = written if in_file else f"-b {url}/v1 {flag} {shlex.quote(model)}"
        return f"{url} ({self.name}) serves {names}{more}: {reported}"


def find_servers(servers: Sequence[tuple[int, str]] | None = None) -> list[LocalServer]:
    """Requests the models of every port of this machine, once and all at once.

    Args:
        servers: Ports and names; `LOCAL_SERVERS` if left out.
    """
    servers = LOCAL_SERVERS if servers is None else servers
    if not servers:
        return []
    with ThreadPoolExecutor(len(servers)) as pool:
        answers = pool.map(_models, [port for port, _ in servers])
        found = zip(servers, answers, strict=True)
        return [LocalServer(port, name, models) for (port, name), models in found if models]


def _models(port: int) -> list[str]:
    """The models of the server at a port; none where nobody answers in the expected way."""
    connection = http.client.HTTPConnection("localhost", port, timeout=ANSWERS_WITHIN_S)
    try:
        connection.request("GET", "/v1/models", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            return []
        entries = json.loads(answer.read(READS_AT_MOST))["data"]
        return [one["id"] for one in entries if isinstance(one["id"], str) and one["id"]]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError):
        return []
    finally:
        connection.close()
