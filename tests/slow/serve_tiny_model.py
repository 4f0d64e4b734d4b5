"""Serves a model with llama.cpp's own server, as `xllamacpp` brings it.

python serve_tiny_model.py MODEL PORT TOKENS_OF_A_SLOT
"""

from __future__ import annotations

import signal
import sys

import xllamacpp

SLOTS = 4


def serve(model: str, port: int, context: int) -> None:
    """Serves until it is ended."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"tiny"}
    params.port = port
    params.n_ctx = context * SLOTS
    params.n_parallel = SLOTS
    params.use_jinja = True
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
