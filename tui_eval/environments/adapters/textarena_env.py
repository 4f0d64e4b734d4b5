"""Games of TextArena for one player."""

from __future__ import annotations

import asyncio
import copy
import random
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from tui_eval.environments.datasets.example_table import as_dataset
from tui_eval.environments.decorators import cleanup
from tui_eval.environments.multi_turn import MultiTurnEnv
from tui_eval.errors import nearest
from tui_eval.install_commands import extra_command
from tui_eval.messages import Messages, UserMessage
from tui_eval.parsers.parser import Parser
from tui_eval.parsers.xml_parser import XMLParser
from tui_eval.rubrics.rubric import Rubric
from tui_eval.state import State

# TextArena draws from Python's one global generator.
_SEEDING = threading.Lock()

# What games read and never change, and what is slow to copy.
_SHARED = ("dictionary", "word_list")


def game_reward(state: State) -> float:
    """The game's reward of its player; 0 for a game that was not finished."""
    return float(state.get("game_reward") or 0.0)


class TextArenaEnv(MultiTurnEnv):
    """The model plays games of TextArena, each rollout one of its own.

    A row's question is the first observation, its answer the secret word where the game has one:
    those of a word list are drawn from it, one a row, as verifiers draws them for the same seed.
    `info["seed"]` begins the same game again. The game's reward goes to
    `state["game_reward"]` when it ends, and its reason for ending is the last message.

    Args:
        game: The game's id, with its version.
        num_train_examples, num_eval_examples: The number of rows of each kind.
        system_prompt: Put before the first observation.
        parser: Finds the move in an answer; by default in `<guess>` tags. Where it finds none, the
            game gets the empty text.
        rubric: The game's reward by default.
        feedback_fn: Makes the next message of an observation. Most games repeat everything said
            so far in each.
        seed: Of the first game; each further one has the next.
        kwargs: As for `MultiTurnEnv`.

    Raises:
        ImportError: textarena is not installed.
        ValueError: There is no such game, or one player cannot play it.
        LookupError: The game needs word lists that are not on this machine; says how to get them.
    """

    def __init__(
        self,
        game: str = "Wordle-v0",
        num_train_examples: int = 1000,
        num_eval_examples: int = 0,
        system_prompt: str | None = None,
        parser: Parser | None = None,
        rubric: Rubric | None = None,
        feedback_fn: Callable[[str], str] = str,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        self.game = game
        self.num_train_examples = num_train_examples
        self.num_eval_examples = num_eval_examples
        self.feedback_fn = feedback_fn
        self.seed = seed
        self.ta_env = _make_game(game)
        self.shared_memo = self.build_shared_memo(self.ta_env)
        self._begin(seed)  # refuses at once what one player cannot play
        parser = parser if parser is not None else XMLParser(["think", "guess"], "guess")
        if num_train_examples > 0:
            kwargs.setdefault("dataset", partial(self._rows, seed, num_train_examples))
        if num_eval_examples > 0:
            first = seed + num_train_examples
            kwargs.setdefault("eval_dataset", partial(self._rows, first, num_eval_examples))
        super().__init__(
            system_prompt=system_prompt,
            parser=parser,
            rubric=rubric if rubric is not None else Rubric([game_reward], parser=parser),
            **kwargs,
        )

    @staticmethod
    def build_shared_memo(ta_env: Any) -> dict[int, Any]:
        """The memo of `copy.deepcopy` with what no game changes, so that all copies share it."""
        heavy = [getattr(ta_env, name, None) for name in _SHARED]
        return {id(thing): thing for thing in heavy if thing is not None}

    def ta_to_hf(self) -> tuple[Any, Any]:
        """The rows for training and those for evaluation, None where there are none.

        Returns:
            Hugging Face `Dataset`s where `datasets` is installed, else tables.
        """
        train, evaluation = self.num_train_examples, self.num_eval_examples
        rows = self._rows(self.seed, train), self._rows(self.seed + train, evaluation)
        return as_dataset(rows[0]), as_dataset(rows[1]) if rows[1] else None

    async def setup_state(self, state: State, **kwargs: Any) -> State | None:
        """Begins the row's game."""
        seed = (state.get("info") or {}).get("seed", self.seed + int(state["example_id"]))
        game, first = await asyncio.to_thread(self._begin, int(seed))
        if state.get("answer") and "secret_word" in game.state.game_state:
            game.state.game_state["secret_word"] = state["answer"]
        else:
            state["prompt"][-1] = UserMessage(content=first)
        state["ta_env"] = game
        state["game_reward"] = None
        return state

    async def env_response(self, messages: Messages, state: State, **kwargs: Any) -> Any:
        """Makes the move in the last answer, and says what the player sees then."""
        move = self.parser.parse_answer(messages)
        game = state["ta_env"]
        done, observation = await asyncio.to_thread(_move, game, str(move))
        if not done:
            return [UserMessage(content=self.feedback_fn(observation))]
        rewards, remarks = game.close()  # by player; some games give neither
        state["game_reward"] = (rewards or {}).get(0)
        feedback = (remarks or {}).get(0, {}).get("reason") or self.feedback_fn(observation)
        state["final_env_response"] = [UserMessage(content=feedback)]
        return state["final_env_response"]

    @cleanup
    async def cleanup_ta_env(self, state: State) -> None:
        """Lets go of the rollout's game."""
        state.pop("ta_env", None)

    def _begin(self, seed: int) -> tuple[Any, str]:
        """A new game of this seed, with its first observation."""
        game = copy.deepcopy(self.ta_env, dict(self.shared_memo))
        with _SEEDING:
            before = random.getstate()
            try:
                game.reset(num_players=1, seed=seed)
            except AssertionError as error:
                raise ValueError(f"{self.game!r} is no game for one player: {error}") from error
            finally:
                random.setstate(before)
        _take_in_either_order(game.state)
        return game, game.get_observation()[1]

    def _rows(self, first: int, count: int) -> list[dict[str, Any]]:
        words: list[str] = getattr(self.ta_env, "word_list", None) or []
        drawn = random.Random(self.seed)
        for _ in range(first - self.seed if words else 0):
            drawn.choice(words)
        rows = []
        for seed in range(first, first + count):
            game, observation = self._begin(seed)
            secret = game.state.game_state.get("secret_word", "")
            if secret and words:
                secret = drawn.choice(words)
            rows.append({"question": observation, "answer": secret, "info": {"seed": seed}})
        return rows


def _make_game(game: str) -> Any:
    try:
        import textarena
        from textarena.envs.registration import ENV_REGISTRY
    except ImportError as error:
        raise ImportError(
            f"TextArenaEnv needs the package textarena: {extra_command('textarena')}"
        ) from error
    if game not in ENV_REGISTRY:
        hint = nearest(game, ENV_REGISTRY)
        raise ValueError(f"TextArena has no game with the id {game!r}. {hint}".strip())
    try:
        return textarena.make(game)
    except LookupError as error:
        wanted = re.search(r"nltk\.download\('(\w+)'\)", str(error))
        if wanted is None:
            raise
        raise LookupError(
            f"{game!r} needs words of nltk that are not on this machine: "
            f"python -m nltk.downloader {wanted[1]}"
        ) from error


def _take_in_either_order(state: Any) -> None:
    """Some games say an invalid move's reward before its reason, which has the first place."""
    own = state.set_invalid_move

    def set_invalid_move(*reported: Any, **named: Any) -> None:
        is_swapped = len(reported) == 2 and isinstance(reported[1], str)
        own(*(reversed(reported) if is_swapped else reported), **named)

    state.set_invalid_move = set_invalid_move


def _move(game: Any, move: str) -> tuple[bool, str]:
    done, _ = game.step(move)
    return bool(done), game.get_observation()[1]
