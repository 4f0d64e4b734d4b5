"""What an engine and its workers say of replicas; see `frames`."""

from __future__ import annotations

import msgspec


class ReplicasOut(msgspec.Struct, tag="replicas_out", array_like=True):
    """These replicas are out, and no others: their calls go to those that are not.

    Args:
        places: In the order of the endpoints.
    """

    places: list[int]


class ReplicaFailed(msgspec.Struct, tag="replica_failed", array_like=True):
    """A replica is to be taken out.

    Args:
        place: In the order of the endpoints.
        why: What requests met there, for people.
    """

    place: int
    why: str
