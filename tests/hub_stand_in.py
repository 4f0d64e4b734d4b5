"""A Hugging Face hub on loopback: as much of it as a push of a dataset asks for."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web
from servers import LoopbackServer

SHA = "a" * 40


class HubStandIn(LoopbackServer):
    """Takes datasets; `files` has what was committed, `refuses` makes every push fail.

    Args:
        refuses: Status of the answer to whoever wants to create a repository.
        datasets: Status of the answer about a dataset that was not pushed.

    Attributes:
        whoami: Status of the answer to who a token is of.
    """

    def __init__(self, refuses: int = 0, datasets: int = 404) -> None:
        super().__init__()
        self.datasets = datasets
        self.refuses = refuses
        self.whoami = 200
        self.created: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []
        self._objects: dict[str, bytes] = {}

    def environment(self, home: str) -> dict[str, str]:
        """Variables that make a process push here."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_TOKEN": "hf_standin",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HOME": home,
        }

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        path, body = request.path, await request.read()
        self.requests.append(f"{request.method} {path}")
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if "/preupload/" in path:
            return web.json_response({"files": [_upload(one) for one in json.loads(body)["files"]]})
        if path.endswith("/info/lfs/objects/batch"):
            objects = [self._place(one) for one in json.loads(body)["objects"]]
            return web.json_response({"transfer": "basic", "objects": objects})
        if path.startswith("/objects/"):
            self._objects[path.rsplit("/", 1)[1]] = body
            return web.Response()
        if "/commit/" in path:
            self._commit(body)
            repository = path.removeprefix("/api/").split("/commit/")[0]
            url = f"{self.url}/{repository}/commit/{SHA}"
            return web.json_response({"commitUrl": url, "commitOid": SHA})
        if path == "/api/validate-yaml":
            return web.json_response({"errors": [], "warnings": []})
        if path == "/api/whoami-v2":
            return web.json_response({"name": "me", "type": "user"}, status=self.whoami)
        return self._look(path)

    def _create(self, wanted: dict[str, Any]) -> web.Response:
        if self.refuses:
            return web.json_response({"error": "no, not you"}, status=self.refuses)
        self.created.append(wanted)
        owner = wanted.get("organization") or "me"
        return web.json_response({"url": f"{self.url}/datasets/{owner}/{wanted['name']}"})

    def _place(self, one: dict[str, Any]) -> dict[str, Any]:
        actions = {"upload": {"href": f"{self.url}/objects/{one['oid']}"}}
        return {"oid": one["oid"], "size": one["size"], "actions": actions}

    def _commit(self, body: bytes) -> None:
        import base64

        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "lfsFile":
                self.files[value["path"]] = self._objects[value["oid"]]
            elif line["key"] == "file":
                self.files[value["path"]] = base64.b64decode(value["content"])

    def _look(self, path: str) -> web.Response:
        if "/revision/" in path or (path.startswith("/api/datasets/") and self.created):
            if "/tree/" not in path:
                return web.json_response({"id": "me/x", "sha": SHA, "siblings": [], "tags": []})
            if path.endswith(SHA):
                entry = {"type": "file", "path": ".gitattributes", "size": 1, "oid": SHA}
                return web.json_response([entry])
        headers = {"X-Error-Code": "EntryNotFound" if "/tree/" in path else "RepoNotFound"}
        return web.json_response({"error": "not found"}, status=self.datasets, headers=headers)


def _upload(wanted: dict[str, Any]) -> dict[str, Any]:
    mode = "lfs" if wanted["path"].endswith(".parquet") else "regular"
    return {"path": wanted["path"], "uploadMode": mode, "shouldIgnore": False}
