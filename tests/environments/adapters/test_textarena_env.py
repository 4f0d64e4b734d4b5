from __future__ import annotations

import copy
import random
import sys
from pathlib import Path

import pytest
from program import Program
from run_here import run_here
from stub_client import StubClient, answer

import tui_eval as vf


@pytest.fixture(autouse=True)
def the_package() -> None:
    pytest.importorskip("textarena")


GAME = "GuessTheNumber-v0"


def env_with(game: str = GAME, **kwargs) -> vf.TextArenaEnv:
    kwargs = {"num_train_examples": 3, "feedback_fn": newest, **kwargs}
    return vf.TextArenaEnv(game=game, **kwargs)


def newest(observation: str) -> str:
    return observation.split("[GAME]")[-1].strip()


def guess(move: str):
    return answer(f"<think>hm</think>\n<guess>[{move}]</guess>")


async def play(env: vf.TextArenaEnv, row: dict, *moves: str) -> vf.State:
    state = await env.rollout(row, StubClient(*map(guess, moves)), "m", {})
    await env.rubric.score_rollout(state)
    return state


def number(seed: int) -> int:
    """The number that the game with this seed hides."""
    return random.Random(seed).randint(1, 20)


@pytest.mark.slow
async def test_a_game_is_played_to_its_end():
    env = env_with(system_prompt="Play.", seed=7)
    row = env.get_dataset()[0]
    assert row["info"] == {"seed": 7}
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert "between 1 and 20" in row["prompt"][1]["content"]
    secret = number(7)
    low = secret - 1
    state = await play(env, row, str(low), str(secret))
    assert state["error"] is None
    talk = [message.content for message in state["completion"]]
    assert talk[1] == "The target number is higher."
    assert talk[3].startswith("Congratulations!")
    assert state["stop_condition"] == "has_final_env_response"
    assert state["reward"] == state["game_reward"] == 1.0
    assert state["metrics"]["num_turns"] == 2.0


@pytest.mark.slow
async def test_without_feedback_fn_the_observation_is_shown_whole():
    env = vf.TextArenaEnv(game=GAME, num_train_examples=1)
    state = await play(env, env.get_dataset()[0], str(number(0) % 20 + 1), str(number(0)))
    seen = state["completion"][1].content
    assert "[GAME] You are Player 0" in seen and "The target number is" in seen


async def test_where_the_parser_finds_no_move_the_game_is_given_what_it_made():
    env = env_with(feedback_fn=str)
    client = StubClient(answer("untagged"), guess("1"), guess("2"))
    state = await env.rollout(env.get_dataset()[0], client, "m", {})
    assert "None" in state["completion"][1].content


async def test_illegal_moves_are_the_games_business():
    env = env_with()
    state = await play(env, env.get_dataset()[0], "99", "88")
    assert "invalid move" in state["completion"][1].content
    assert "Invalid Move" in state["completion"][-1].content
    assert state["error"] is None
    assert state["reward"] < 1


async def test_a_game_with_the_reward_of_an_invalid_move_first_is_understood():
    env = env_with("ThreeCardMonte-v0")
    state = await play(env, env.get_dataset()[0], "none", "none")
    said = [message.content for message in state["completion"]]
    assert "Reason: Bad action. Use `[k]`." in said[1]
    assert said[-1] == "Invalid Move: Bad action. Use `[k]`."
    assert state["error"] is None
    assert state["reward"] == state["game_reward"] == 0.0


async def test_an_answer_without_a_move_is_an_empty_one():
    env = env_with(max_turns=2)
    client = StubClient(answer("I will not say."), guess("5"))
    state = await env.rollout(env.get_dataset()[0], client, "m", {})
    assert "Invalid move format" in state["completion"][1].content
    assert state["error"] is None


async def test_rollouts_do_not_share_a_game_nor_touch_the_programs_randomness():
    env = env_with(num_train_examples=2, num_eval_examples=1)
    random.seed(3)
    expected = random.Random(3).random()
    rows = [*env.get_dataset(), env.get_eval_dataset()[0]]
    for seed, row in enumerate(rows):
        assert row["info"]["seed"] == seed
        for _ in range(2):
            state = await play(env, row, str(number(seed)))
            assert state["reward"] == 1.0
    assert random.random() == expected


async def test_a_rubric_of_ones_own_reads_the_game():
    def won(state):
        return float(state["game_reward"] == 1)

    parser = vf.XMLParser(["guess"], answer_field="guess")
    env = env_with(parser=parser, rubric=vf.Rubric([won], parser=parser))
    state = await play(env, env.get_dataset()[0], str(number(0)))
    assert state["metrics"]["won"] == 1.0


@pytest.fixture
def word_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The corpora and the tagger that Wordle downloads, small and made here."""
    import nltk

    words = tmp_path / "corpora" / "words"
    words.mkdir(parents=True)
    for name in ("en", "en-basic"):
        (words / name).write_text("crane\nhouse\nplant\n")
    (words / "README").write_text("")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setattr(nltk, "download", lambda *_, **__: None)
    monkeypatch.setattr(nltk, "pos_tag", lambda words: [(word, "NN") for word in words])
    for name in [name for name in sys.modules if name.startswith("textarena.envs.Wordle")]:
        monkeypatch.delitem(sys.modules, name)
    nltk.corpus.words = nltk.corpus.util.LazyCorpusLoader(
        "words", nltk.corpus.reader.WordListCorpusReader, r"(?!README|\.).*", encoding="ascii"
    )


def test_a_game_whose_words_are_not_there_says_how_to_get_them(
    word_lists: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(LookupError, match=r"'Wordle-v0' needs words .* nltk.downloader words"):
        env_with("Wordle-v0")


async def test_wordle_has_its_secret_as_the_answer_drawn_as_verifiers_draws_it(word_lists):
    env = env_with("Wordle-v0", num_train_examples=8, num_eval_examples=8, seed=5)
    drawn = random.Random(5)
    expected = [drawn.choice(env.ta_env.word_list) for _ in range(16)]
    rows = [*env.get_dataset(), *env.get_eval_dataset()]
    assert [row["answer"] for row in rows] == expected
    assert set(expected) == {"crane", "house", "plant"}
    row = rows[9]
    other = next(word for word in ("crane", "house") if word != row["answer"])
    state = await play(env, row, other, row["answer"])
    assert state["error"] is None
    assert "Feedback:" in state["completion"][1].content
    assert state["reward"] == 1.0
    assert "ta_env" not in state, "it is let go of"
    one, two = [copy.deepcopy(env.ta_env, dict(env.shared_memo)) for _ in range(2)]
    assert one.dictionary is two.dictionary
    assert one is not two


async def test_an_answer_without_a_tag_is_what_the_parser_makes_of_it():
    class Bare(vf.Parser):
        def parse_answer(self, completion):
            return f"[{completion[-1]['content']}]"

    env = env_with(parser=Bare())
    client = StubClient(answer(str(number(0))))
    state = await env.rollout(env.get_dataset()[0], client, "m", {})
    assert state["game_reward"] == 1.0


@pytest.mark.parametrize(
    ("game", "said"),
    [
        ("GuessTheNumbr-v0", "no game with the id 'GuessTheNumbr-v0'. Did you mean GuessTheNumber"),
        ("TicTacToe-v0", "'TicTacToe-v0' is no game for one player"),
    ],
)
def test_a_game_that_cannot_be_played_is_refused(game, said):
    with pytest.raises(ValueError) as caught:
        env_with(game)
    assert said in str(caught.value)


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "textarena", None)
    with pytest.raises(ImportError, match=r"pip install .*'tui-eval\[textarena\]'"):
        env_with()


@pytest.mark.slow
def test_the_program_runs_it(program: Program):
    program.environment(
        "numbers",
        """
        import tui_eval as vf
        from tui_eval.environments.adapters.textarena_env import TextArenaEnv

        def load_environment():
            return TextArenaEnv(
                game="GuessTheNumber-v0",
                num_train_examples=3,
                feedback_fn=lambda seen: seen.split("[GAME]")[-1],
                system_prompt="Answer in <guess> tags.",
                max_turns=8,
            )
        """,
    )
    done = run_here(program, "numbers", "-m", "demo", "-n", "3", "-r", "2", "-s", "-d")
    assert done.code == 0, done
    rows = program.only_run().rows
    assert len(rows) == 6
    assert all(row["error"] is None for row in rows)
    assert all("game_reward" in row["metrics"] for row in rows)
