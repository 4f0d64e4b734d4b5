"""Keys of endpoints, and where they are found."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tui_eval.client_config import PRIME_KEY_VAR
from tui_eval.errors import Fault, RefusedError
from tui_eval.own_folders import home_folder
from tui_eval.pasted import clean_variable
from tui_eval.types import ClientConfig

PRIME_TEAM_VAR = "PRIME_TEAM_ID"
TEAM_HEADER = "X-Prime-Team-ID"
_KEY_PREFIX = re.compile(r"(?:sk|pk|rk|xai|gsk|hf|pit|nvapi|AIza|key)[-_][\w-]{8,}|AIza\w{20,}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PRIME_HOSTS = ("pinference.ai", "primeintellect.ai")


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials that one endpoint is sent.

    Args:
        key: Empty for none.
        headers: Headers beside the key: Prime's team.
        variable: The environment variable that names it; empty where the caller had it.
    """

    key: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict)
    variable: str = ""


def credentials_of(config: ClientConfig, api_key: str | None = None) -> Credentials:
    """The key and the headers for the endpoint of a config.

    Prime's key comes from `PRIME_API_KEY`, else from `~/.prime/config.json`; its team from
    `PRIME_TEAM_ID`, else from that file. Where the config does not say `api_key_var`, they go to
    Prime's hosts, and nothing goes to any other.

    Args:
        api_key: The key, where the caller has it already.

    Raises:
        RefusedError: The config has no usable URL, its key cannot be found, or Prime's file is
            needed and cannot be read.
    """
    _check_url(config.api_base_url)
    var = config.api_key_var
    if "api_key_var" not in config.model_fields_set and not is_prime(config.api_base_url):
        var = ""
    key = _find_key(var) if api_key is None else api_key
    team = _team_header(config) if var == PRIME_KEY_VAR and key else {}
    return Credentials(key, team, var if api_key is None else "")


def key_of(config: ClientConfig) -> str:
    """The key that goes to the endpoint of a config, empty for none; raises as `credentials_of`."""
    return credentials_of(config).key


def is_literal_key(var: str) -> bool:
    """Whether what should name an environment variable looks like a key, or can name none."""
    if _VARIABLE.fullmatch(var) and var.isupper():
        return False
    return bool(_KEY_PREFIX.match(var)) or not _VARIABLE.fullmatch(var)


def is_prime(url: str) -> bool:
    """Whether a URL is on one of Prime's hosts."""
    host = urlsplit(url).hostname or ""
    return any(host == known or host.endswith(f".{known}") for known in _PRIME_HOSTS)


def prime_config_path() -> Path:
    """The file that `prime login` writes."""
    return home_folder() / ".prime" / "config.json"


def _check_url(url: str) -> None:
    if not url:
        raise RefusedError([Fault("api_base_url", "the endpoint has no URL", "Set one")])
    try:
        netloc, _ = urlsplit(url).netloc, urlsplit(url).port
    except ValueError as error:
        hint = "It begins with http:// or https:// and a host"
        raise RefusedError([Fault("api_base_url", f"this is no URL: {error}", hint)]) from error
    if "@" in netloc:
        hint = "Put the credential into the variable that `api_key_var` names"
        raise RefusedError([Fault("api_base_url", "the URL holds a user or password", hint)])


def _find_key(var: str) -> str:
    if not var:
        return ""
    value = clean_variable(var)
    if not value and var == PRIME_KEY_VAR:
        value = _prime_setting("api_key")
    if value:
        return value
    if is_literal_key(var):
        what = "that looks like a key; the name of the variable that holds it belongs here"
        raise RefusedError([Fault("api_key_var", what, "export MY_KEY=..., and name MY_KEY")])
    hint = f"export {var}=..., or name another with `api_key_var` or -k, empty for no key"
    if var == PRIME_KEY_VAR:
        hint = f"Run `prime login`, or {hint}"
    fault = Fault(var, "this variable, which holds the key, is not set", hint)
    raise RefusedError([fault])


def _team_header(config: ClientConfig) -> dict[str, str]:
    if any(name.lower() == TEAM_HEADER.lower() for name in config.extra_headers):
        return {}
    team = os.environ.get(PRIME_TEAM_VAR)
    if team is None:
        team = _prime_setting("team_id")
    return {TEAM_HEADER: team} if team else {}


def _prime_setting(name: str) -> str:
    """A setting of Prime's file; empty where it has none."""
    path = prime_config_path()
    try:
        settings: Any = json.loads(path.read_text("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise _unusable(path, f"this cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _unusable(path, f"this is no JSON: {error}") from error
    if not isinstance(settings, dict):
        raise _unusable(path, f"this is {type(settings).__name__}, not an object")
    value = settings.get(name)
    if value is not None and not isinstance(value, str):
        raise _unusable(path, f"{name} is {type(value).__name__}, not text")
    return value or ""


def _unusable(path: Path, what: str) -> RefusedError:
    hint = f"Run `prime login` to write it again, or set {PRIME_KEY_VAR} and {PRIME_TEAM_VAR}"
    return RefusedError([Fault(str(path), what, hint)])
