"""Servers that others wrote, each started once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from known_servers import (
    LITELLM,
    LLAMA_CPP,
    PROXY_KEY,
    Other,
    llama_server,
    llmock_of,
    llmock_server,
    proxy_settings,
)
from program import Program
from six_turns import Evaluation
from third_party_packages import Server
from tool_caller import ToolCaller


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two megabytes, made here."""
    python = LLAMA_CPP.installed() / "python"
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    maker = Path(__file__).with_name("tiny_model.py")
    done = subprocess.run([python, maker, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="session")
def llama(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Other]:
    with llama_server(tiny_model, tmp_path_factory.mktemp("llama")) as server:
        yield Other(
            server,
            "tiny",
            {
                "openai_chat_completions": "/v1",
                "openai_completions": "/v1",
                "openai_responses": "/v1",
                "anthropic_messages": "",
            },
        )


@pytest.fixture(scope="session")
def litellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Other]:
    """LiteLLM's proxy in front of a model that calls tools."""
    folder = tmp_path_factory.mktemp("litellm")
    program = str(LITELLM.installed() / "litellm")
    with ExitStack() as stack:
        behind = stack.enter_context(ToolCaller())
        config = folder / "config.yaml"
        config.write_text(json.dumps(proxy_settings(behind.url)))
        command = [program, "--config", str(config), "--host", "127.0.0.1", "--port", "{port}"]
        env = {
            "LITELLM_MASTER_KEY": PROXY_KEY,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_TELEMETRY": "False",
        }
        server = Server(command, "/health/liveliness", folder / "litellm.log", env)
        stack.enter_context(server)
        bases = {
            "openai_chat_completions": "/v1",
            "openai_responses": "/v1",
            "anthropic_messages": "",
        }
        yield Other(server, "dice", bases, PROXY_KEY)


@pytest.fixture(scope="session")
def llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Other]:
    with llmock_server(tmp_path_factory.mktemp("llmock")) as server:
        yield llmock_of(server)


@pytest.fixture
def evaluation(program: Program) -> Evaluation:
    """Runs of the program, which knows the proxy's key."""
    program.env["PROXY_KEY"] = PROXY_KEY
    return Evaluation(program)
