"""Suites as listeners see and steer them, at their own socket and those of their evaluations."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from engine_listener import EngineListener, listening
from program import chat_answer
from servers import Reply
from suites import CHAT, Suites, marked

from tui_eval.commands import Pause, Rerun, SetMaxConcurrent, Stop, Unpause
from tui_eval.engine.setup.suite_lock import at_work_on
from tui_eval.engine.transport.launcher import Launch
from tui_eval.events import (
    CommandAnswered,
    EvaluationMoved,
    MaxConcurrentChanged,
    Noticed,
    RunStarted,
)
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.runs.lock import holder


@pytest.fixture
def here(suite: Suites, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite.program.folder)
    for name, value in suite.program.env.items():
        monkeypatch.setenv(name, value)


REQUEST = {"env_id": "suite.toml", "raw": {}}


@pytest.mark.usefixtures("here")
async def test_one_evaluation_can_be_joined_left_and_stopped_at_its_own_socket(
    suite: Suites,
) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.2)])
    suite.write(
        f"{marked('a')}; num_examples = 20; max_concurrent = 2",
        f"{marked('b')}; max_concurrent = 2",
        top="max_concurrent = 4",
    )
    async with listening(LiveFeed(Launch(REQUEST))) as root:
        await root.until(lambda: root.suite.running, "the first one runs")
        first = root.suite.evaluations[0]
        held = holder(Path(first.last.path) / "lock")
        assert held is not None and held.socket == first.last.socket
        async with listening(LiveFeed(socket_path=held.socket)) as one:
            await one.until(lambda: one.state.finished >= 2, "its rollouts are reported")
            assert one.state.run is not None and one.state.run.path == first.last.path
        async with listening(LiveFeed(socket_path=held.socket)) as one:
            await one.until(lambda: one.state.finished >= 4, "it continues when left")
            one.feed.send(Stop())
            await one.until(lambda: one.state.end, "it ends")
            assert one.state.end is not None and one.state.end.status == "interrupted"
        await root.until(lambda: root.suite.end, "the others continue")
        assert [one.last.status for one in root.suite.evaluations] == ["interrupted", "finished"]
        assert root.suite.end is not None and root.suite.end.exit_code == 130
        assert all(one.last.saved for one in root.suite.evaluations)
        assert not root.state.run and not [e for e in root.events if isinstance(e, RunStarted)]
    assert 4 <= len(suite.runs()["a"].rows) < 40
    assert len(suite.runs()["b"].rows) == 4


@pytest.mark.usefixtures("here")
async def test_the_limit_of_all_moves_and_one_that_has_fewer_of_its_own_keeps_them(
    suite: Suites,
) -> None:
    suite.server.script(CHAT, [Reply(hang=True)])
    tables = (f"{marked('a')}; max_concurrent = 1", marked("b"), marked("c"))
    suite.write(*tables, top="max_concurrent = 2")
    async with listening(LiveFeed(Launch(REQUEST))) as root:
        await root.until(lambda: len(suite.server.requests) == 2, "two are in flight")
        root.feed.send(SetMaxConcurrent(6))
        await root.until(lambda: len(suite.server.requests) == 6, "six are")
        await root.until(lambda: root.suite.max_concurrent_changed, "everybody hears it")
        assert root.suite.started is not None and root.suite.started.max_concurrent == 6
        await root.until(
            lambda: [one.last.running for one in root.suite.evaluations] == [1, 4, 1],
            "the first one has no more",
        )
        root.feed.send(Rerun())
        await root.until(
            lambda: any(isinstance(one, CommandAnswered) and not one.done for one in root.events),
            "a suite has no rollouts",
        )


def socket_of_the_first(root: EngineListener) -> str:
    held = holder(Path(root.suite.evaluations[0].last.path) / "lock")
    assert held is not None
    return held.socket


@pytest.mark.slow
@pytest.mark.usefixtures("here")
async def test_what_is_paused_for_all_and_resumed_at_one_continues_for_all(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    suite.write(*(f"{marked(mark)}; num_examples = 10" for mark in "ab"), top="max_concurrent = 2")
    async with listening(LiveFeed(Launch(REQUEST))) as root:
        await root.until(lambda: root.suite.running, "the first one runs")
        async with listening(LiveFeed(socket_path=socket_of_the_first(root))) as one:
            root.feed.send(Pause())
            await one.until(lambda: not one.state.gate_open, "the evaluation is paused")
            await root.until(lambda: not root.suite.gate_open, "with all of it")
            one.feed.send(Unpause())
            await root.until(lambda: root.suite.gate_open, "all of it continues")
            one.feed.send(Pause())
            await root.until(lambda: not root.suite.gate_open, "and is paused with the one")
            root.feed.send(Unpause())
            await root.until(lambda: root.suite.end, "the second one begins and ends, too")
        assert [one.last.status for one in root.suite.evaluations] == ["finished", "finished"]


@pytest.mark.usefixtures("here")
async def test_a_limit_that_is_raised_at_one_evaluation_is_raised_for_all(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(hang=True)])
    suite.write(f"{marked('a')}; num_examples = 10", marked("b"), top="max_concurrent = 2")
    async with listening(LiveFeed(Launch(REQUEST))) as root:
        await root.until(lambda: len(suite.server.requests) == 2, "two are in flight")
        async with listening(LiveFeed(socket_path=socket_of_the_first(root))) as one:
            one.feed.send(SetMaxConcurrent(5))
            await one.until(lambda: len(suite.server.requests) == 5, "five are")
            await root.until(lambda: root.suite.max_concurrent_changed, "everybody hears it")
            assert root.suite.started is not None and root.suite.started.max_concurrent == 5
            one.feed.send(SetMaxConcurrent(1))
            await one.until(
                lambda: one.of(MaxConcurrentChanged)[-1].max_concurrent == 1, "one has fewer"
            )
            root.listen()
            assert root.suite.started.max_concurrent == 5


@pytest.mark.usefixtures("here")
async def test_nothing_is_begun_again_while_an_engine_works_on_it(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    suite.write(*(f"{marked(mark)}; num_examples = 6" for mark in "ab"), top="max_concurrent = 2")
    file = suite.program.folder / "suite.toml"
    other = file.with_name("other.toml")
    other.write_text(file.read_text())
    async with listening(LiveFeed(Launch(REQUEST))) as root:
        await root.until(lambda: root.suite.running, "the first one runs")
        root.feed.send(Pause())
        again = await asyncio.to_thread(suite.run, "--resume")
        assert again.code == 2, again
        assert "suite.toml: process " in again.err
        assert "is working on these evaluations. Join them: tui-eval open suite.toml" in again.err
        path = root.suite.evaluations[0].last.path
        assert f"/{Path(path).name}: process" in again.err
        same = await asyncio.to_thread(suite.program.run, "other.toml", "--resume")
        assert same.code == 2, same
        assert f"{Path(path).name}: process" in same.err
        assert "Join it: tui-eval open" in same.err
        root.feed.send(Unpause())
        await root.until(lambda: root.suite.end, "it ends")
    assert {mark: len(run.rows) for mark, run in suite.runs().items()} == {"a": 12, "b": 12}
    assert len(suite.program.runs()) == 2
    assert suite.run("--resume").code == 0


@pytest.mark.usefixtures("here")
async def test_who_joins_the_whole_later_receives_the_status_of_all(suite: Suites) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    suite.write(*(f"{marked(mark)}; num_examples = 10" for mark in "ab"), top="max_concurrent = 4")
    async with listening(LiveFeed(Launch(REQUEST))) as root:
        await root.until(lambda: root.suite.over, "the first one is over")
        await root.until(lambda: root.suite.running, "the second one runs")
        root.feed.send(Pause())
        await root.until(lambda: not root.suite.gate_open, "the gate is closed")
        held = at_work_on(suite.program.folder / "suite.toml")
        assert held is not None
        async with listening(LiveFeed(socket_path=held.socket)) as late:
            await late.until(lambda: not late.suite.gate_open, "it hears all of it")
            assert [one.last.status for one in late.suite.evaluations] == ["finished", "running"]
            late.feed.send(Unpause())
            await late.until(lambda: late.suite.end, "it ends")
    assert at_work_on(suite.program.folder / "suite.toml") is None


@pytest.mark.slow
@pytest.mark.usefixtures("here")
async def test_one_that_waits_to_be_resumed_counts_what_is_on_disk(suite: Suites) -> None:
    cut_short = f"{marked('a')}; max_total_tokens = 30; max_concurrent = 1"
    suite.write(cut_short, marked("b"))
    assert suite.run().code == 4
    suite.server.script(CHAT, [Reply(hang=True)])
    suite.write(marked("a"), f"{marked('b')}; num_examples = 3", top="max_concurrent = 1")
    again = {**REQUEST, "raw": {"resume": "newest", "accept_changes": True}}

    def on_disk(one: EvaluationMoved) -> tuple[object, ...]:
        tokens = one.input_tokens, one.output_tokens
        return one.status, one.total, one.finished, one.reward, tokens, one.elapsed_s > 0

    as_saved = ("waiting", 6, 4, 1.0, (40, 20), True)
    async with listening(LiveFeed(Launch(again))) as root:
        await root.until(lambda: root.suite.running, "the first one runs")
        assert on_disk(root.suite.evaluations[1].last) == as_saved
        first = next(one for one in root.of(EvaluationMoved) if one.status == "running")
        assert (first.finished, first.reward, first.input_tokens) == (2, 1.0, 20)
        held = at_work_on(suite.program.folder / "suite.toml")
        assert held is not None
        async with listening(LiveFeed(socket_path=held.socket)) as late:
            await late.until(lambda: late.suite.running, "it hears all of it")
            assert on_disk(late.suite.evaluations[1].last) == as_saved


@pytest.mark.slow
@pytest.mark.usefixtures("here")
async def test_a_pause_at_the_root_holds_all_and_numbers_are_published_seldom(
    suite: Suites,
) -> None:
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.05)])
    suite.write(
        *(f"{marked(mark)}; num_examples = 10" for mark in "abc"),
        top="max_concurrent = 4; save_results = false",
    )
    async with listening(LiveFeed(Launch(REQUEST))) as root:
        await root.until(lambda: root.suite.running, "the first one runs")
        root.feed.send(Pause())
        await root.until(lambda: not root.state.gate_open, "the gate is closed")
        await asyncio.sleep(0.3)
        requests_before = len(suite.server.requests)
        await asyncio.sleep(0.5)
        assert len(suite.server.requests) == requests_before < 60
        root.feed.send(Unpause())
        await root.until(lambda: root.suite.end, "it ends")
        assert root.suite.end is not None and root.suite.end.exit_code == 0
        moved = [event for event in root.events if isinstance(event, EvaluationMoved)]
        for place in range(3):
            own = [event for event in moved if event.index == place]
            assert own[0].status == "running" and own[-1].status == "finished"
            assert (own[-1].total, own[-1].finished, own[-1].reward) == (20, 20, 1.0)
            assert not own[-1].saved
            assert all(b.at - a.at > 0.2 for a, b in pairwise(own[1:-1]))
        assert not [e for e in root.events if isinstance(e, Noticed) and e.level == "warning"]


@pytest.mark.slow
@pytest.mark.usefixtures("here")
async def test_each_continues_with_the_run_that_is_named_for_it_and_with_no_other(
    suite: Suites,
) -> None:
    suite.write(marked("a"), marked("b"))
    suite.server.script(CHAT, [Reply(400)])
    assert suite.run().code == 3
    first = suite.runs()
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))] * 3 + [Reply(400)])
    assert suite.run("--set", "max_concurrent=1").code == 3
    suite.server.script(CHAT, [Reply(body=chat_answer("yes"))])
    runs = [str(first["a"].path), ""]
    async with listening(LiveFeed(Launch({**REQUEST, "runs": runs}))) as root:
        await root.until(lambda: root.suite.end, "all are over")
        assert [one.last.status for one in root.suite.evaluations] == ["finished"] * 2
        paths = [one.last.path for one in root.suite.evaluations]
        assert paths[0] == runs[0] and len(suite.program.runs()) == 5
        assert [row["error"] for row in first["a"].rows] == [None] * 4
        assert all(row["error"] for row in first["b"].rows)
    async with listening(LiveFeed(Launch({**REQUEST, "runs": [paths[0]]}))) as root:
        await root.until(lambda: root.suite.refused or root.state.refused, "it is refused")
        (fault,) = root.state.refused
        assert fault[1] == "it has 2 evaluations, and 1 are to be resumed"


@pytest.mark.usefixtures("here")
async def test_the_run_of_an_evaluation_that_waits_to_be_resumed_is_known_before_its_turn(
    suite: Suites,
) -> None:
    suite.write(marked("a"), marked("b"), top="max_concurrent = 1")
    suite.server.script(CHAT, [Reply(400)])
    assert suite.run().code == 3
    runs = {mark: str(run.path) for mark, run in suite.runs().items()}
    suite.server.script(CHAT, [Reply(hang=True)])
    async with listening(
        LiveFeed(Launch({"env_id": "suite.toml", "raw": {"resume": "newest"}}))
    ) as root:
        await root.until(lambda: root.suite.running, "the first one runs")
        waiting = root.suite.evaluations[1].last
        assert (waiting.status, waiting.path, waiting.finished) == ("waiting", runs["b"], 4)
        root.feed.send(Stop())
        await root.until(lambda: root.suite.end, "all are over")
        assert [one.last.path for one in root.suite.evaluations] == [runs["a"], runs["b"]]


@pytest.mark.usefixtures("here")
async def test_what_holds_for_one_command_alone_is_reported(suite: Suites) -> None:
    suite.write(marked("a"), marked("b"))
    text = (suite.program.folder / "suite.toml").read_text()
    request = {**REQUEST, "raw": {"max_total_tokens": "1000000"}, "text": text}
    async with listening(LiveFeed(Launch(request))) as root:
        await root.until(lambda: root.suite.end, "all are over")
        assert root.suite.started is not None and root.suite.started.is_edited
        assert root.suite.started.budgets == ["--max-total-tokens"]
