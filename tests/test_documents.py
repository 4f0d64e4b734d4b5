"""README and docs: every command in them works, every environment in them runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from program import Program, chat_answer
from served import Served
from servers import FaultServer, Reply

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITH_COMMANDS = [path for path in DOCUMENTS if "```sh" in path.read_text()]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`((?:environments/|configs/)?[\w-]+\.(?:py|jsonl|toml))`:?\s*\Z")
ENVIRONMENT = re.compile(r"`((?:environments|configs)/[\w-]+\.(?:py|toml))`")


def blocks(text: str) -> list[tuple[str, str, str]]:
    """(text before, language, content) of every fenced block."""
    found, at = [], 0
    for match in FENCE.finditer(text):
        found.append((text[at : match.start()], match.group(1), match.group(2)))
        at = match.end()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("document", WITH_COMMANDS, ids=lambda path: path.name)
def test_every_command_works_in_the_order_of_the_document(
    document: Path, program: Program, fault_server: FaultServer
) -> None:
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("Paris"))])
    program.env |= {"OPENAI_API_KEY": "sk-of-a-test", "MY_API_KEY": "sk-of-a-test"}
    configs = program.folder / "configs"
    configs.mkdir()
    shipped = (ROOT / "configs" / "endpoints.toml").read_text()
    (configs / "endpoints.toml").write_text(
        shipped.replace("https://api.openai.com", fault_server.url)
    )
    commands = 0
    for before, language, content in blocks(document.read_text()):
        files = FILE.findall(before) or ENVIRONMENT.findall(before)
        if files and language in ("python", "json", "toml"):
            path = program.folder / files[-1]
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        elif language == "python":
            run = program.runs(program.folder / "results")[0]
            subprocess.run([sys.executable, "-c", content], cwd=run.path, check=True)
        elif language == "sh":
            for line in content.splitlines():
                words = shlex.split(line.replace("$SERVER", fault_server.url))
                assert words[0] == "tui-eval"
                commands += 1
                if words[1] == "serve":
                    Served(program, *words[2:]).open_and_end()
                    continue
                done = program.run(*words[1:])
                assert done.code == 0, f"{line}\n{done}"
    assert commands


@pytest.mark.slow
def test_every_program_in_the_page_on_python_runs(program: Program) -> None:
    text = (ROOT / "docs" / "python.md").read_text()
    programs = [content for _, language, content in blocks(text) if language == "python"]
    assert programs
    for source in programs:
        command = [sys.executable, "-c", source]
        done = subprocess.run(
            command, cwd=program.folder, env=program.env, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{source}\n{done.stderr}"
    assert program.runs()
    for run in program.runs():
        assert run.metadata["n_errored"] == 0, run.rows[0]["error"]


def test_links_lead_somewhere() -> None:
    for document in [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_folder_is_in_the_guide_for_contributors() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for folder in (ROOT / "tui_eval").iterdir():
        if folder.is_dir() and (folder / "__init__.py").exists():
            assert f"{folder.name}/" in text, folder.name
