"""Endpoints that serve a model: from the registry, a provider's name, or a URL that was typed.

A resumed run, whichever program began it, stays at the endpoints of its plan unless something that
was set names others; then these are chosen as for a new run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from tui_eval.clients.base_urls import has_only_plain_query
from tui_eval.config.endpoints import (
    DEFAULT_TYPE,
    EMBEDDED,
    PRICES,
    Endpoint,
    Registry,
    kept_registry,
    read_registry,
    registry_at,
    registry_path,
)
from tui_eval.config.local_servers import LocalServer
from tui_eval.config.options import TYPED_KEY_VAR, Setting, Settings
from tui_eval.config.plan import RunPlan
from tui_eval.config.providers import PROVIDER_TABLE
from tui_eval.config.resumed_endpoints import RESUME, endpoints_of, header_faults
from tui_eval.config.secret_values import masked_url
from tui_eval.config.settings import BUILT_IN, built_in_settings
from tui_eval.config.values import is_url
from tui_eval.errors import Fault, RefusedError, nearest

_NAMES_A_MODEL = ("model", "endpoint_id", "api_base_url", "provider")


class Surroundings(msgspec.Struct, frozen=True):
    """Files and servers that are read beside the settings, each once for a whole command.

    Args:
        path: Finds the path of the registry, given the requested one.
    """

    registry: Callable[[Path], Registry] = read_registry
    path: Callable[[str | None], Path] = registry_path
    servers: Callable[[], list[LocalServer]] = list


class Chosen(msgspec.Struct, frozen=True):
    """Endpoints of a model.

    Args:
        endpoints: Its replicas, at least one; they speak the same protocol.
        settings: Settings that were found, with their sources.
        registry: The registry that the endpoints are from, as a plan keeps it; empty for none.
    """

    endpoints: list[Endpoint]
    settings: Settings
    registry: str = ""


def choose(
    settings: Settings, before: RunPlan | None, around: Surroundings
) -> tuple[Chosen | None, list[Fault]]:
    """The endpoints that settings amount to, and everything that is wrong with the choice.

    Args:
        settings: Only what somebody set.
        before: The plan of the resumed run; None for a new one.

    Returns:
        The endpoints as far as they are known, also where one of a new run has no key; None where
        none is.
    """
    if before is None:
        return _from_registry({"model": built_in_settings()["model"], **settings}, around)
    if settings.keys().isdisjoint(_NAMES_A_MODEL):
        return _from_plan(before, settings, around)
    named = {"model": Setting(before.alias, "run.toml")}
    if before.registry:
        named["endpoints_path"] = Setting(str(registry_at(before.registry)), "run.toml")
    return _from_registry({**named, **settings}, around)


def _from_plan(
    before: RunPlan, settings: Settings, around: Surroundings
) -> tuple[Chosen | None, list[Fault]]:
    """The endpoints of a resumed run, with what was set for them now."""
    requested = _value(settings, "endpoints_path")
    path = around.path(requested) if requested else registry_at(before.registry)
    known = endpoints_of(before, path, around.registry)
    endpoints, wrong = _as_set(known, {"model": Setting(before.alias, RESUME), **settings}, "model")
    wrong += header_faults(endpoints, before, path, around.registry)
    kept = kept_registry(path) if requested else before.registry
    return (None, wrong) if wrong else (Chosen(endpoints, {}, kept), [])


def _from_registry(settings: Settings, around: Surroundings) -> tuple[Chosen | None, list[Fault]]:
    """The endpoints of the model that settings name."""
    named, alias = _named(settings)
    path = around.path(_value(settings, "endpoints_path"))
    registry, faults = around.registry(path)
    elsewhere = any(_value(settings, name) for name in ("api_base_url", "provider"))
    unread = path.suffix == ".py"  # is no fault of who names the URL
    if faults and not (elsewhere and unread):
        return None, list(faults)
    known = registry.get(alias, [])
    if not known and (not elsewhere or named == "endpoint_id"):
        return None, [_unknown(settings, named, alias, path, registry, around)]
    base, unkeyed = known or [Endpoint(alias, alias, "", "", DEFAULT_TYPE)], list[Fault]()
    if known and elsewhere:
        only, unkeyed = _elsewhere(known, settings)
        base = [only]
    endpoints, wrong = _as_set(base, settings, named)
    found = _found_out(endpoints[0], settings)
    if len(endpoints) > 1:
        found |= _of_replicas(endpoints, found)
    return Chosen(endpoints, found, "" if elsewhere else kept_registry(path)), unkeyed + wrong


def _named(settings: Settings) -> tuple[str, str]:
    """The setting that names the model, and the name."""
    if _value(settings, "endpoint_id"):
        return "endpoint_id", settings["endpoint_id"].value
    return "model", settings["model"].value


def _value(settings: Settings, name: str) -> Any:
    setting = settings.get(name)
    return setting.value if setting else None


def _unknown(
    settings: Settings,
    named: str,
    alias: str,
    path: Path,
    registry: Mapping[str, list[Endpoint]],
    around: Surroundings,
) -> Fault:
    close = nearest(alias, registry)
    hints = [close or f"It has {', '.join(registry) or 'no aliases'}."]
    in_file = _is_of_file(settings)
    hints += [f"{server.offer(alias, in_file=in_file)}." for server in around.servers()]
    hints.append(_NAMED_IN_FILE if in_file else _NAMED)
    what = f"no endpoint is called {alias!r} in {path}"
    if where := _file_without_model(settings, named):
        return Fault(
            where, f"nothing names a model, and the default is not there: {what}", " ".join(hints)
        )
    return Fault(settings[named].where(named), what, " ".join(hints))


_NAMED = "Or name its URL with -b, or its provider with -p"
_NAMED_IN_FILE = "Or write model with its api_base_url or its provider"


def _is_of_file(settings: Settings) -> bool:
    """Whether a file of evaluations names the environment: beside it, flags name no model."""
    return ":" in settings.get("env_id", Setting("", "")).source


def _file_without_model(settings: Settings, named: str) -> str:
    """Place where a file of evaluations could name a model; empty where something does."""
    if settings[named].source != BUILT_IN or not _is_of_file(settings):
        return ""
    return f"{settings['env_id'].source}, model"


def _elsewhere(replicas: list[Endpoint], settings: Settings) -> tuple[Endpoint, list[Fault]]:
    """The alias at a URL that was typed, or at a provider, which has everything of its own."""
    first = replicas[0]
    if _value(settings, "provider"):
        return Endpoint(first.alias, first.model, "", "", first.client_type), []
    return at_typed_url(replicas, settings)


def _as_set(
    base: list[Endpoint], settings: Settings, named: str
) -> tuple[list[Endpoint], list[Fault]]:
    """Endpoints with what was set for them, and what is wrong with them then."""
    every = [_changed(one, settings) for one in base]
    return every, [fault for one in every for fault in _endpoint_faults(one, settings, named)]


def _changed(endpoint: Endpoint, settings: Settings) -> Endpoint:
    """Merged settings: what was set wins over the provider, and the provider over the registry."""
    name = _value(settings, "provider")
    url, key_var, kind = (
        _value(settings, name) for name in ("api_base_url", "api_key_var", "api_client_type")
    )
    if name:
        provider = PROVIDER_TABLE[name]
        endpoint = replace(
            endpoint, url=provider.url, key_var=provider.key_var, client_type=provider.client_type
        )
    stream = _value(settings, "stream")
    if _value(settings, "no_stream"):
        stream = False
    return replace(
        endpoint,
        url=url or endpoint.url,
        key_var=endpoint.key_var if key_var is None else key_var,
        client_type=kind or endpoint.client_type,
        stream=endpoint.stream if stream is None else stream,
        headers={**endpoint.headers, **(_value(settings, "headers") or {})},
    )


def _found_out(endpoint: Endpoint, settings: Settings) -> Settings:
    """The settings of an endpoint that nobody set, with the place that they came from."""
    name = _value(settings, "provider")
    found = {
        "api_base_url": endpoint.url,
        "api_key_var": endpoint.key_var,
        "api_client_type": endpoint.client_type,
        "headers": dict(endpoint.headers) or None,
        "model_at_endpoint": endpoint.model,
        **{name: getattr(endpoint, name) for name in PRICES},
        "stream": endpoint.stream or None,
        **endpoint.profile,
    }
    source = endpoint.source or (f"provider {name}" if name else "")
    return {
        key: Setting(value, source)
        for key, value in found.items()
        if source and value is not None and _value(settings, key) is None
    }


def _of_replicas(endpoints: list[Endpoint], found: Settings) -> Settings:
    """Settings that replicas may have each for itself, as far as nobody set them for all."""
    every = ", ".join(one.source for one in endpoints)
    own = {"api_base_url": Setting(", ".join(one.url for one in endpoints), every)}
    key_vars = [one.key_var for one in endpoints]
    if "api_key_var" in found and len(set(key_vars)) > 1:
        own["api_key_var"] = Setting(key_vars, every)
    headers = {name: value for one in endpoints for name, value in one.headers.items()}
    if headers and ("headers" in found or not endpoints[0].headers):
        where = ", ".join(one.source for one in endpoints if one.headers)
        own["headers"] = Setting(headers, where)
    return own


def _endpoint_faults(endpoint: Endpoint, settings: Settings, named: str) -> list[Fault]:
    """Faults of an endpoint as it would be used."""

    def fault(name: str, what: str, hint: str) -> list[Fault]:
        typed = settings.get(name)
        return [Fault(typed.where(name) if typed else endpoint.source or RESUME, what, hint)]

    if endpoint.url != EMBEDDED and not is_url(endpoint.url):
        shown = masked_url(endpoint.url) if "@" in endpoint.url else endpoint.url
        hint = "It begins with http:// or https:// and a host"
        return fault("api_base_url", f"{shown!r} is no URL", hint)
    if not has_only_plain_query(endpoint.url):
        what = "the URL has a query (?) other than api-version, or a fragment (#)"
        hint = "Name the variable that holds a key with -k, or send it with --header"
        return fault("api_base_url", what, hint)
    if endpoint.url == EMBEDDED and endpoint.client_type != DEFAULT_TYPE:
        what = f"{endpoint.alias} does not speak {endpoint.client_type}"
        return fault(
            "api_client_type", what, f"Leave the client type out: it speaks {DEFAULT_TYPE}"
        )
    return _key_faults(endpoint, settings, named)


def _key_faults(endpoint: Endpoint, settings: Settings, named: str) -> list[Fault]:
    from tui_eval.clients.credentials import credentials_of
    from tui_eval.types import ClientConfig

    config = ClientConfig(api_key_var=endpoint.key_var, api_base_url=endpoint.url)
    try:
        credentials_of(config)
    except RefusedError as error:
        if endpoint.key_var == TYPED_KEY_VAR:
            what = "the key that was typed is not kept with the run"
            hint = "Type it again: --api-key KEY, or name a variable that holds it: -k VAR"
            return [Fault("--api-key", what, hint)]
        model, before = settings[named], ""
        where = model.where(named) if ":" in model.source else f"--model {endpoint.alias}"
        if in_file := _file_without_model(settings, named):
            where, before = (
                in_file,
                f"nothing names a model, and the default, {endpoint.alias}, needs a key: ",
            )
        return [
            Fault(where, f"{before}{fault.where}: {fault.what}", fault.hint)
            for fault in error.faults
        ]
    return []


def at_typed_url(replicas: Sequence[Endpoint], settings: Settings) -> tuple[Endpoint, list[Fault]]:
    """The endpoint at the URL that `api_base_url` names, in place of all replicas.

    At a replica's own host all that the registry says of it holds. To other ports of this machine
    its key goes along where there is one. Any other host gets neither key nor headers: which key
    it gets, if any, has to be said.

    Args:
        replicas: Replicas of one alias, at least one.
        settings: Merged ones, with `api_base_url`.

    Returns:
        The endpoint, still at its old URL or at none, and a fault where a key has to be named.
    """
    typed = settings["api_base_url"]
    url = urlsplit(str(typed.value))
    is_here = is_on_this_machine(str(typed.value))
    first = replicas[0]
    for one in replicas:
        own = urlsplit(one.url)
        if _is_same_host(own, url) and (own.port == url.port or not is_here):
            return one, []
    bare = Endpoint(first.alias, first.model, "", "", first.client_type)
    if is_here:
        return replace(bare, key_var=first.key_var if os.environ.get(first.key_var) else ""), []
    key = settings.get("api_key_var")
    if not first.key_var or (key is not None and key.value is not None):
        return bare, []
    of = urlsplit(first.url).hostname
    what = f"{url.hostname} gets no key of {of}, and {first.key_var} is that of {first.alias}"
    hint = "Name the variable that holds its own with -k VAR; -k '' sends none"
    return bare, [Fault(typed.where("api_base_url"), what, hint)]


def _is_same_host(own: SplitResult, typed: SplitResult) -> bool:
    """Whether what belongs to a URL may go to another: never in the clear where it was not."""
    is_as_safe = own.scheme == typed.scheme or typed.scheme == "https"
    return bool(own.hostname) and own.hostname == typed.hostname and is_as_safe


def is_on_this_machine(url: str) -> bool:
    """Whether a URL leads to this machine itself."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
