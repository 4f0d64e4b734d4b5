"""A gym-like object of the older form: four values from a step, arguments, a reward per step."""

from typing import Any

import verifiers as vf
from verifiers.envs.experimental.gym_env import GymEnv


class Lift:
    def __init__(self, floors: int) -> None:
        self.floors = floors
        self.at = 0

    def reset(self, *, seed: int = 0) -> int:
        self.at = seed % self.floors
        return self.at

    def step(self, action: int) -> tuple[int, float, bool, dict[str, Any]]:
        self.at += action
        done = self.at >= self.floors
        return self.at, 1.0 if done else -0.1, done, {"at": self.at}

    def close(self) -> None:
        self.at = -1


class LiftEnv(GymEnv):
    def obs_to_text(self, obs: int) -> str:
        return f"Floor {obs}."


def move(text: str) -> int:
    return {"up": 1, "down": -1}[text.split()[0].lower()]


def steps(state) -> float:
    return float(len(state["trajectory"]))


def load_environment(floors: int = 3, num_eval_episodes: int = 3) -> vf.Environment:
    env = LiftEnv(
        env_cls=Lift,
        env_kwargs={"floors": floors},
        action_parser=move,
        num_train_episodes=1,
        num_eval_episodes=num_eval_episodes,
        max_episode_steps=4,
        seed=4,
        system_prompt="Say up or down.",
    )
    env.rubric.add_metric(steps)
    return env
