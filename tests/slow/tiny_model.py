"""Writes a model for llama.cpp that knows only what comes after a token; has `gguf` to do so.

After a line's end it calls `roll` for one side or the other, by chance; after a call its answer is
over; after anything else come small letters until it has had enough. So it calls a tool in every
turn of a chat, and rambles where it has to complete a text.

    python tiny_model.py PATH
"""

from __future__ import annotations

import sys

import gguf
import numpy as np

_CALL = """\
<tool_call>
{{"name": "roll", "arguments": {{"side": "{}"}}}}
</tool_call>"""
CALLS = [_CALL.format(side) for side in ("left", "right")]
SPECIAL = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]
END = SPECIAL.index("<|im_end|>")
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
TOKENS = SPECIAL + BYTES + CALLS
KINDS = [2] + [3] * 4 + [6] * len(BYTES) + [1] * len(CALLS)
VOCABULARY = len(TOKENS)
WIDTH = VOCABULARY + -VOCABULARY % 32
CONTEXT = 4096
TEMPLATE = """\
{%- if tools %}<|im_start|>system
You may call functions: <tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools>
Answer with <tool_call>
{"name": <name>, "arguments": <arguments>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{%- else %}<|im_start|>{{ message.role }}
{{ message.content or "" }}{% for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{%- endif %}
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def likelihoods() -> np.ndarray:
    """What comes after each token, as logits."""
    after = np.full((VOCABULARY, VOCABULARY), -20.0, np.float32)
    first = len(SPECIAL) + ord("a")
    letters = np.random.default_rng(0).standard_normal((VOCABULARY, 26))
    after[:, first : first + 26] = letters
    after[:, END] = 1.0
    calls = slice(VOCABULARY - len(CALLS), VOCABULARY)
    after[len(SPECIAL) + ord("\n"), calls] = 20.0
    after[calls, END] = 40.0
    return after


def write(path: str) -> None:
    """Writes the model: one block that adds nothing, between the tokens and what follows them."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(WIDTH // 32)
    writer.add_head_count_kv(WIDTH // 32)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(32)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types(KINDS)
    writer.add_bos_token_id(SPECIAL.index("<s>"))
    writer.add_eos_token_id(END)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    for name, weights in tensors().items():
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensors() -> dict[str, np.ndarray]:
    """Every tensor by its name."""
    embedding = np.eye(VOCABULARY, WIDTH, dtype=np.float32)
    output = np.zeros((VOCABULARY, WIDTH), np.float32)
    output[:, :VOCABULARY] = likelihoods().T / np.sqrt(WIDTH)
    ones = np.ones(WIDTH, np.float32)
    nothing = np.zeros((WIDTH, WIDTH), np.float32)
    return {
        "token_embd.weight": embedding,
        "output_norm.weight": ones,
        "output.weight": output,
        "blk.0.attn_norm.weight": ones,
        "blk.0.ffn_norm.weight": ones,
        **{f"blk.0.attn_{part}.weight": nothing for part in ("q", "k", "v", "output")},
        "blk.0.ffn_gate.weight": nothing[:32],
        "blk.0.ffn_up.weight": nothing[:32],
        "blk.0.ffn_down.weight": nothing[:, :32],
    }


if __name__ == "__main__":
    write(sys.argv[1])
