"""Stateful tools that stop on an error, and calls that are no JSON or name no tool."""

from typing import Any, cast

import verifiers as vf
from datasets import Dataset
from verifiers.types import State


class OverdrawnError(Exception):
    """More was taken than there is."""


class Accounts:
    def __init__(self, amount: float) -> None:
        self.amount = amount
        self.log: list[str] = []


class LedgerEnv(vf.StatefulToolEnv):
    def __init__(self, start: float = 10.0, **kwargs):
        super().__init__(
            tools=[self.rules],
            stop_errors=[OverdrawnError],
            error_formatter=lambda error: f"refused ({type(error).__name__})",
            **kwargs,
        )
        self.start = start
        self.add_tool(self.move, args_to_skip=["accounts", "turn"])
        self.add_tool(self.gone)
        self.remove_tool(self.gone)

    async def setup_state(self, state: State, **kwargs) -> State:
        state["accounts"] = Accounts(self.start)
        return await super().setup_state(state, **kwargs)

    def update_tool_args(
        self,
        tool_name: str,
        tool_args: dict[str, Any],
        messages: vf.Messages,
        state: State,
        **kwargs: Any,
    ) -> dict[str, Any]:
        if tool_name == "move":
            return {**tool_args, "accounts": state["accounts"], "turn": len(state["trajectory"])}
        return tool_args

    async def rules(self) -> str:
        """Says the rules."""
        return "Never go below nothing."

    async def move(self, amount: float, accounts: Accounts, turn: int, note: str = "") -> float:
        """Moves money.

        Args:
            amount: What is added.
            accounts: Hidden.
            turn: Hidden.
            note: Why.
        """
        if accounts.amount + amount < 0:
            raise OverdrawnError(note)
        accounts.amount += amount
        accounts.log.append(f"{turn}:{note}")
        return accounts.amount

    def gone(self, why: str) -> str:
        """Is taken away again."""
        return why


def amount(state: State) -> float:
    return cast(Accounts, state["accounts"]).amount / 100


def logged(state: State) -> float:
    return float(len(state["accounts"].log))


def load_environment(**kwargs) -> vf.Environment:
    tasks = ["save", "spend", "confuse"]
    return LedgerEnv(
        dataset=Dataset.from_list([{"question": f"Please {task}."} for task in tasks]),
        rubric=vf.Rubric(funcs=[amount, logged], weights=[1.0, 0.0]),
        max_turns=5,
        **kwargs,
    )
