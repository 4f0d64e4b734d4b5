"""Questions and scores of the procedural datasets of reasoning-gym."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from tui_eval.environments.datasets.example_table import as_dataset
from tui_eval.environments.single_turn import SingleTurnEnv
from tui_eval.errors import nearest
from tui_eval.install_commands import extra_command
from tui_eval.messages import Messages
from tui_eval.parsers.parser import Parser
from tui_eval.parsers.xml_parser import XMLParser
from tui_eval.rubrics.rubric import Rubric

GymSpec: TypeAlias = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]


class ReasoningGymEnv(SingleTurnEnv):
    """The model answers procedurally made questions; their dataset scores.

    A row has the dataset's question and answer, its name as `task`, and `info` with `index`, its
    place in `rg_dataset`. The training examples are there first, then those for evaluation. The
    score is the reward, the form of the answer a metric.

    Args:
        gym: The name of a dataset; a list of names and dicts with `name`, `weight` (1 by default)
            and `config`, which are mixed by weight; or a dict with such a list as `datasets`.
        num_train_examples, num_eval_examples: The number of rows of each kind.
        system_prompt: That of reasoning-gym by default, which requests `<answer>` tags.
        parser: Finds the answer; by default in `<answer>` tags.
        seed: Of the whole dataset.
        kwargs: As for `Environment`.

    Raises:
        ImportError: reasoning-gym is not installed.
        ValueError: There is no such dataset, or it cannot be configured so.
    """

    def __init__(
        self,
        gym: GymSpec,
        num_train_examples: int = 1000,
        num_eval_examples: int = 100,
        system_prompt: str | None = None,
        parser: Parser | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        self.gym = gym
        self.num_train_examples = num_train_examples
        self.num_eval_examples = num_eval_examples
        self.seed = seed
        self.rg_dataset = self.build_rg_dataset(gym, num_train_examples + num_eval_examples, seed)
        if system_prompt is None:
            from reasoning_gym.utils import SYSTEM_PROMPTS

            system_prompt = SYSTEM_PROMPTS["default"]
        parser = parser if parser is not None else XMLParser(["answer"])
        rubric = Rubric(parser=parser)
        rubric.add_reward_func(self.check_answer_reward_func)
        rubric.add_metric(parser.get_format_reward_func())
        total = num_train_examples + num_eval_examples
        if num_train_examples > 0:
            kwargs.setdefault(
                "dataset", partial(_rows_of, self.rg_dataset, range(num_train_examples))
            )
        if num_eval_examples > 0:
            places = range(num_train_examples, total)
            kwargs.setdefault("eval_dataset", partial(_rows_of, self.rg_dataset, places))
        super().__init__(system_prompt=system_prompt, parser=parser, rubric=rubric, **kwargs)

    def build_rg_dataset(self, gym: GymSpec, total_examples: int = 1000, seed: int = 0) -> Any:
        """The dataset of reasoning-gym with questions and scores; subclasses may have another.

        Raises:
            ImportError, ValueError: As for the class.
        """
        return _make_dataset(gym, total_examples, seed)

    def rg_to_hf(self, rg_dataset: Any) -> tuple[Any, Any]:
        """The rows for training and those for evaluation of a dataset of reasoning-gym.

        Returns:
            Hugging Face `Dataset`s where `datasets` is installed, else tables.
        """
        middle = self.num_train_examples
        places = range(middle), range(middle, len(rg_dataset))
        train, evaluation = (_rows_of(rg_dataset, some) for some in places)
        return as_dataset(train), as_dataset(evaluation)

    def check_answer_reward_func(
        self, completion: Messages, info: dict[str, Any], parser: Parser
    ) -> float:
        """The dataset's score of the answer, from 0 to 1."""
        answer = parser.parse_answer(completion)
        return float(self.rg_dataset.score_answer(answer, self.rg_dataset[info["index"]]))


def __getattr__(name: str) -> Any:
    if name != "DEFAULT_SYSTEM_PROMPT":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reasoning_gym.utils import SYSTEM_PROMPTS

    return SYSTEM_PROMPTS["default"]


def _rows_of(rg_dataset: Any, places: range) -> list[dict[str, Any]]:
    return [
        {
            "question": entry["question"],
            "answer": entry["answer"],
            "task": entry["metadata"].get("source_dataset", "reasoning-gym"),
            "info": {"index": index},
        }
        for index, entry in ((index, rg_dataset[index]) for index in places)
    ]


def _make_dataset(gym: GymSpec, size: int, seed: int) -> Any:
    """The dataset of reasoning-gym, which makes an entry when its place is requested."""
    try:
        from reasoning_gym import create_dataset
        from reasoning_gym.composite import DatasetSpec
        from reasoning_gym.factory import DATASETS
    except ImportError as error:
        raise ImportError(
            "ReasoningGymEnv needs the package reasoning-gym: " + extra_command("reasoning-gym")
        ) from error
    rest: dict[str, Any] = {}
    parts = [gym] if isinstance(gym, str | Mapping) else list(gym)
    if isinstance(gym, Mapping) and "datasets" in gym:
        rest = {key: value for key, value in gym.items() if key != "datasets"}
        parts = list(gym["datasets"])
    specs = [{"name": part} if isinstance(part, str) else dict(part) for part in parts]
    for spec in specs:
        name = spec.get("name")
        if name not in DATASETS:
            hint = nearest(str(name), DATASETS)
            raise ValueError(f"reasoning-gym has no dataset named {name!r}. {hint}".strip())
    try:
        if isinstance(gym, str):
            return create_dataset(gym, size=size, seed=seed)
        mixed = [DatasetSpec(**{"weight": 1.0, "config": {}, **spec}) for spec in specs]
        config = {"size": size, "seed": seed, **rest, "datasets": mixed}
        return create_dataset("composite", **config)
    except (AssertionError, TypeError, ValueError) as error:
        raise ValueError(f"reasoning-gym cannot make {gym!r}: {error}") from error
