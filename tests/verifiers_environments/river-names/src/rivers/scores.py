"""How near a length is."""

import json
import re


def _number(completion) -> float:
    found = re.findall(r"\d+", completion[-1]["content"])
    return float(found[-1]) if found else 0.0


def close_enough(completion, info, **kwargs) -> float:
    river = json.loads(info) if isinstance(info, str) else info
    return max(0.0, 1.0 - abs(_number(completion) - river["km"]) / river["km"])


def exact(completion, answer) -> bool:
    return _number(completion) == int(answer)
