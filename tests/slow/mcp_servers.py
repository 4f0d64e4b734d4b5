"""MCP servers that others wrote, from npm's and Python's registries, and calls of their tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from third_party_packages import NodePackage, Package

NODE = NodePackage(
    "mcp-servers-node",
    tuple(
        f"@modelcontextprotocol/server-{name}@2026.8.31"
        for name in ("everything", "filesystem", "memory", "sequential-thinking")
    ),
)
NEW = Package("mcp-servers", ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19"))
OLD = Package(
    "mcp-servers-old", ("mcp-server-sqlite==2025.4.25", "mcp-server-calculator==0.2.0", "mcp<2")
)
"""Written for the first version of the SDK."""

Calls = list[tuple[str, dict[str, Any]]]
NAMES: dict[str, Any] = {"name": "Ada", "entityType": "person", "observations": ["counts", "Ü 🎈"]}


@dataclass(frozen=True)
class McpServer:
    """A server, and calls of which some fail.

    Args:
        package: Where its program is.
        program, args: What runs; `{folder}` stands for a folder that it may write to.
        calls: Tools and arguments, in this order; `{folder}` stands there too.
        failing: How many of the calls are answered with an error.
    """

    package: Package
    program: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    calls: Calls = field(default_factory=list)
    failing: int = 0

    def config(self, name: str) -> dict[str, Any]:
        """As `mcp_servers` has it."""
        command = str(self.package.installed() / self.program)
        return {"name": name, "command": command, "args": list(self.args), "env": self.env}


SERVERS = {
    "everything": McpServer(
        NODE,
        "mcp-server-everything",
        ("stdio",),
        calls=[
            ("echo", {"message": "grüße 🎈\u2028 \x00"}),
            ("get-annotated-message", {"messageType": "error", "includeImage": True}),
            ("get-resource-links", {"count": 2}),
            ("get-resource-reference", {"resourceType": "Blob", "resourceId": 1}),
            ("get-structured-content", {"location": "Chicago"}),
            ("get-sum", {"a": 1.5, "b": 2}),
            ("get-sum", {"a": "one"}),
            ("get-tiny-image", {}),
            ("gzip-file-as-resource", {"data": "data:,xyz", "outputType": "resource"}),
            ("trigger-long-running-operation", {"duration": 0.2, "steps": 2}),
        ],
        failing=1,
    ),
    "filesystem": McpServer(
        NODE,
        "mcp-server-filesystem",
        ("{folder}",),
        calls=[
            ("write_file", {"path": "{folder}/a.txt", "content": "one\ntwo\n"}),
            ("read_text_file", {"path": "{folder}/a.txt", "head": 1}),
            ("edit_file", {"path": "{folder}/a.txt", "edits": [{"oldText": "o", "newText": "0"}]}),
            ("create_directory", {"path": "{folder}/b"}),
            ("move_file", {"source": "{folder}/a.txt", "destination": "{folder}/b/c.txt"}),
            ("directory_tree", {"path": "{folder}"}),
            ("read_multiple_files", {"paths": ["{folder}/b/c.txt", "{folder}/none.txt"]}),
            ("search_files", {"path": "{folder}", "pattern": "**/*.txt"}),
            ("read_text_file", {"path": "/etc/hostname"}),
            ("list_allowed_directories", {}),
        ],
        failing=1,
    ),
    "memory": McpServer(
        NODE,
        "mcp-server-memory",
        env={"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
        calls=[
            ("create_entities", {"entities": [NAMES, {**NAMES, "name": "Bob"}]}),
            (
                "create_relations",
                {"relations": [{"from": "Ada", "to": "Bob", "relationType": "knows"}]},
            ),
            (
                "add_observations",
                {"observations": [{"entityName": "Nobody", "contents": ["is missing"]}]},
            ),
            ("read_graph", {}),
            ("search_nodes", {"query": "🎈"}),
            ("delete_entities", {"entityNames": ["Bob"]}),
            ("open_nodes", {"names": ["Ada"]}),
        ],
        failing=1,
    ),
    "thinking": McpServer(
        NODE,
        "mcp-server-sequential-thinking",
        calls=[
            (
                "sequentialthinking",
                {
                    "thought": "t",
                    "nextThoughtNeeded": False,
                    "thoughtNumber": 1,
                    "totalThoughts": 1,
                },
            ),
            ("sequentialthinking", {"thought": "t"}),
        ],
        failing=1,
    ),
    "time": McpServer(
        NEW,
        "mcp-server-time",
        ("--local-timezone", "UTC"),
        calls=[
            ("get_current_time", {"timezone": "Mars/Olympus"}),
            (
                "convert_time",
                {
                    "source_timezone": "UTC",
                    "time": "25:00",
                    "target_timezone": "Europe/Vienna",
                },
            ),
        ],
        failing=2,
    ),
    "git": McpServer(
        NEW,
        "mcp-server-git",
        calls=[
            ("git_status", {"repo_path": "{folder}"}),
            ("git_add", {"repo_path": "{folder}", "files": ["note.txt"]}),
            ("git_diff_staged", {"repo_path": "{folder}"}),
            ("git_status", {"repo_path": "/"}),
        ],
        failing=1,
    ),
    "sqlite": McpServer(
        OLD,
        "mcp-server-sqlite",
        ("--db-path", "{folder}/shop.db"),
        calls=[
            ("create_table", {"query": "CREATE TABLE lamps (name TEXT, price REAL)"}),
            ("write_query", {"query": "INSERT INTO lamps VALUES ('desk', 12.5), ('Ü', NULL)"}),
            ("read_query", {"query": "SELECT * FROM lamps ORDER BY name"}),
            ("list_tables", {}),
            ("describe_table", {"table_name": "lamps"}),
            ("read_query", {"query": "DELETE FROM lamps"}),
            ("append_insight", {"insight": "lamps are cheap"}),
        ],
    ),
    "calculator": McpServer(
        OLD,
        "mcp-server-calculator",
        calls=[
            ("calculate", {"expression": "2**10 + sqrt(16)"}),
            ("calculate", {"expression": "1/0"}),
            ("calculate", {}),
        ],
        failing=2,
    ),
}
