"""`tui-eval serve`: the app in a browser."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import ipaddress
import secrets
import socket
from pathlib import Path
from urllib.parse import urlencode

import click

from tui_eval.errors import Fault
from tui_eval.install_commands import extra_command

PORT = 8899
WITH_SCREEN = ("home", "new", "open", "run", "demo", "compare", "agent")


@click.command(
    "serve", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port.  [default: {PORT}, or else a free one]"
)
@click.option(
    "--token", metavar="VALUE|@FILE", help="Token that opens it.  [default: a random one]"
)
@click.option("--no-token", is_flag=True, help="Let everybody in who can reach it.")
@click.option("--public-url", metavar="URL", help="The URL that people see, behind a proxy.")
@click.argument("words", metavar="[COMMAND]...", nargs=-1, type=click.UNPROCESSED)
def command(
    host: str,
    port: int | None,
    token: str | None,
    no_token: bool,
    public_url: str | None,
    words: tuple[str, ...],
) -> int:
    """Show tui-eval in a browser until Ctrl-C.

    COMMAND is what would stand behind `tui-eval` on a terminal: a run's directory, an environment
    with its options, `demo`, `compare A B`; home without one. Options of serve come before it.
    Every tab is a screen of its own; one that is closed stops its run, unless that was detached.
    """
    from tui_eval.cli.console.printing import print_faults

    faults: list[Fault] = []
    if importlib.util.find_spec("textual_serve") is None:
        hint = f"Install it: {extra_command('serve')}"
        faults.append(Fault("tui-eval serve", "it needs the package textual-serve", hint))
    secret = _token(token, no_token, faults)
    _check_url(public_url, faults)
    shown = _command_line(words, faults)
    listening = _listen(host, port, faults) if not faults else None
    if listening is None or shown is None:
        return print_faults(faults)
    with listening:
        return _serve(shown, listening, host, secret, token is None, public_url)


def _token(token: str | None, no_token: bool, faults: list[Fault]) -> str | None:
    """The token: the requested one, a random one, or None for none."""

    if no_token:
        if token is not None:
            faults.append(Fault("--token", "--no-token was given, too", "Give one of them"))
        return None
    if token is None:
        return secrets.token_urlsafe(24)
    if token.startswith("@"):
        try:
            token = Path(token[1:]).expanduser().read_text("utf-8-sig").strip()
        except (OSError, UnicodeDecodeError, RuntimeError) as error:
            faults.append(Fault("--token", f"{token[1:]} cannot be read: {error}"))
            return None
    if not token:
        hint = "Leave --token out for a random one; --no-token lets everybody in"
        faults.append(Fault("--token", "it is empty, which keeps nobody out", hint))
    return token


def _check_url(url: str | None, faults: list[Fault]) -> None:
    from urllib.parse import urlsplit

    from tui_eval.config.values import is_url

    if url is not None and (not is_url(url) or urlsplit(url).query or urlsplit(url).fragment):
        hint = "For example https://evals.example.org"
        faults.append(Fault("--public-url", f"{url!r} is no URL of a server", hint))


def _command_line(words: tuple[str, ...], faults: list[Fault]) -> list[str] | None:
    """The command line of a screen, with its command, its usage checked."""
    from tui_eval.cli.main import COMMANDS, command_of

    if not words:
        return ["home"]
    if words[0] not in COMMANDS:
        words = (command_of(words[0]), *words)
    name, *rest = words
    if name not in WITH_SCREEN:
        hint = f"These have one: {', '.join(WITH_SCREEN)}"
        faults.append(Fault(f"tui-eval {name}", "it has no screen that could be shown", hint))
        return None
    parsed: click.Command = importlib.import_module(COMMANDS[name]).command
    with parsed.make_context(f"tui-eval {name}", list(rest)):
        return list(words)


def _listen(host: str, port: int | None, faults: list[Fault]) -> socket.socket | None:
    """A socket that listens, on another port than the usual one if that is taken."""

    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
        try:
            return socket.create_server((address[0], PORT if port is None else port), family=family)
        except OSError:
            if port is not None:
                raise
            return socket.create_server((address[0], 0), family=family)
    except (OSError, UnicodeError) as error:
        hint = "--port 0 takes a free one" if port else "--host is an address of this machine"
        place = f"{host}:{port}" if port else host
        faults.append(Fault(place, f"it cannot be listened on: {error}", hint))
        return None


def _serve(
    words: list[str],
    listening: socket.socket,
    host: str,
    token: str | None,
    is_random: bool,
    public_url: str | None,
) -> int:
    from tui_eval.cli.console.printing import print_stdout, warn
    from tui_eval.cli.serve.web_gate import Gate
    from tui_eval.cli.serve.web_server import WebServer

    address, port = listening.getsockname()[:2]
    is_far = not ipaddress.ip_address(address).is_loopback
    if is_far and token is None:
        warn(f"warning: without a token everybody who reaches {address} can run programs here")
    elif is_far and not (public_url or "").startswith("https"):
        warn("warning: token and screen travel as plain text; use an ssh tunnel or a proxy")

    def print_address() -> None:
        query = f"?{urlencode({'token': token})}" if token and is_random else ""
        url = f"{public_url or _url(address, port)}".rstrip("/") + f"/{query}"
        print_stdout(["Serving tui-eval at", url])  # by itself, so that it is one line to be copied
        if public_url:
            print_stdout([f"A proxy finds it at {_url(address, port).removeprefix('http://')}"])
        if token and not is_random:
            print_stdout(["It requires your token: add ?token=… to the URL."])
        print_stdout(["Ctrl-C ends it, and every screen with it."])

    gate = Gate(token, host, port, public_url)
    asyncio.run(WebServer(words, gate, public_url).run(listening, print_address))
    return 0


def _url(address: str, port: int) -> str:
    """A URL that leads to a socket; by the machine's name where it listens on all addresses."""
    if ipaddress.ip_address(address).is_unspecified:
        address = socket.gethostname()
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"
