"""What every history shares: named pairs of arms, and evidence for one of them."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import pandas as pd

from logoslab.errors import InvalidValue, SourceError
from logoslab.pack.base import Frozen
from logoslab.pack.evidence import Arm, Evidence, Trial
from logoslab.studies.histories.checks import Finding, recorded_twice, refuse, same_tasks

PROJECT = Path(__file__).resolve().parents[4]


class Pair(Frozen):
    """Two arms of a history, one after the other.

    Attributes
    ----------
    id : str
        Unique in its history.
    dataset, baseline, candidate : str
        Where the arms are recorded and what they are called there.
    relation : str
        What changed: ``model upgrade``, ``prompt change``…
    unit : str
        What one value is about.
    clustered : bool
        Whether slices are clusters (repositories, task families) whose tasks depend on each other.
    note : str
        What the source says about the pair.
    """

    id: str
    dataset: str
    baseline: str
    candidate: str
    relation: str = "change"
    unit: str = "task"
    clustered: bool = False
    note: str = ""


class History(ABC):
    """Recorded outcomes of several versions of something on the same tasks.

    Parameters
    ----------
    root : path, optional
        Folder that holds the source's folder; by default ``data`` in :func:`shared_folder`.

    Notes
    -----
    A replay of recorded outcomes, not a live run. Tasks arrive in the order of a hash of their
    name, because the files group them by repository, subject or family.
    """

    name: ClassVar[str]
    origin: ClassVar[str]
    licence: ClassVar[str]
    files: ClassVar[tuple[str, ...]]

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = Path(root) if root is not None else shared_folder() / "data"

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.root / self.name

    def available(self) -> bool:
        """Whether all its files are there."""
        return all((self.folder / file).is_file() for file in self.files)

    @abstractmethod
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that it lists."""

    @abstractmethod
    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """One arm: columns ``task``, ``value``, and where known ``slice``, ``replicate``, ``cost``.

        Raises
        ------
        InvalidValue
            When the dataset has no such arm.
        """

    def pair(self, pair_id: str) -> Pair:
        """The pair of that name.

        Raises
        ------
        InvalidValue
        """
        listed = {pair.id: pair for pair in self.pairs()}
        if pair_id not in listed:
            raise InvalidValue(
                f"pair of {self.name}",
                got=pair_id,
                allowed=f"one of {len(listed)} pairs such as {next(iter(listed), 'none')!r}",
                next_step="Take an id from pairs().",
            )
        return listed[pair_id]

    def findings(self, pair: Pair) -> tuple[Finding, ...]:
        """What is known to be wrong with a pair's recording."""
        tasks = [self.arm(pair.dataset, arm)["task"] for arm in (pair.baseline, pair.candidate)]
        unequal = same_tasks(pair.id, *tasks)
        return (unequal,) if unequal else ()

    def evidence(self, pair_id: str) -> Evidence:
        """Trials of both arms of a pair; flags of its recording are in ``notes``.

        Raises
        ------
        EvidenceError
            When a check refuses the recording.
        InvalidValue, SourceError
            On an unknown pair or missing files.
        """
        pair = self.pair(pair_id)
        found = self.findings(pair)
        refuse(found)
        return evidence_between(
            pair,
            self.arm(pair.dataset, pair.baseline),
            self.arm(pair.dataset, pair.candidate),
            scorer=f"recorded: {self.name}",
            flags=tuple(f.message for f in found),
        )

    def table(self, file: str) -> pd.DataFrame:
        """One file of the source as published; do not change it.

        Raises
        ------
        SourceError
            When it is not there.
        """
        path = self.folder / file
        if not path.is_file():
            raise SourceError(
                f"{file} of history {self.name}",
                got="no such file",
                allowed=f"the folder {self.name} as published, in data of the shared folder",
                next_step="Set LOGOSLAB_SHARED to the shared folder, or use SyntheticHistory().",
            )
        return _read(path, path.stat().st_mtime_ns)


def shared_folder() -> Path:
    """The shared folder: ``LOGOSLAB_SHARED``, else ``shared`` beside the project."""
    return Path(os.environ.get("LOGOSLAB_SHARED") or PROJECT.parent / "shared")


@lru_cache(maxsize=16)
def _read(path: Path, changed: int) -> pd.DataFrame:
    del changed  # part of the key, so that a rewritten file is read again
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def known(rows: pd.DataFrame, dataset: str, name: str) -> pd.DataFrame:
    """The rows of an arm, with a fresh index.

    Raises
    ------
    InvalidValue
        When there are none.
    """
    if rows.empty:
        raise InvalidValue(
            f"arm of {dataset}",
            got=name,
            allowed="an arm that the dataset recorded",
            next_step="Take the arms from pairs().",
        )
    return rows.reset_index(drop=True)


def ordered_pairs(
    dataset: str, arms: list[str], *, prefix: str = "", relation: str = "model change",
    unit: str = "task", clustered: bool = False,
) -> tuple[Pair, ...]:  # fmt: skip
    """Every arm against every other, both ways round."""
    return tuple(
        Pair(id=f"{prefix}{a} -> {b}", dataset=dataset, baseline=a, candidate=b,
             relation=relation, unit=unit, clustered=clustered)
        for a in arms for b in arms if a != b
    )  # fmt: skip


def evidence_between(
    pair: Pair,
    baseline: pd.DataFrame,
    candidate: pd.DataFrame,
    *,
    scorer: str,
    flags: tuple[str, ...] = (),
) -> Evidence:
    """Evidence from two arm frames, tasks in hash order.

    Raises
    ------
    EvidenceError
        When an arm records one task and replicate twice.
    """
    refuse(found for rows in (baseline, candidate) if (found := recorded_twice(pair.id, rows)))
    order = arrival_order([*baseline["task"], *candidate["task"]])
    arms: tuple[tuple[Arm, pd.DataFrame], ...] = (
        ("incumbent", baseline),
        ("candidate", candidate),
    )
    return Evidence(
        trials=tuple(t for arm, rows in arms for t in _trials(arm, rows, order)),
        incumbent=pair.baseline,
        candidate=pair.candidate,
        scorer=scorer,
        notes={
            "pair": pair.id,
            "dataset": pair.dataset,
            "relation": pair.relation,
            "unit": pair.unit,
            "clustered": pair.clustered,
            "flags": list(flags),
        },
    )


def arrival_order(tasks: list[str]) -> dict[str, int]:
    """Task → position, by SHA-256 of its name: the same on every machine and in every pair."""
    hashed = sorted(set(tasks), key=lambda task: hashlib.sha256(task.encode()).digest())
    return {task: position for position, task in enumerate(hashed)}


def _trials(arm: Arm, rows: pd.DataFrame, order: dict[str, int]) -> list[Trial]:
    def column(name: str, unknown: object) -> list[object]:
        if name not in rows:
            return [unknown] * len(rows)
        return [unknown if pd.isna(value) else value for value in rows[name].tolist()]

    cells = zip(
        rows["task"], column("value", None), column("slice", "all"), column("replicate", 0),
        column("cost", None), strict=True,
    )  # fmt: skip
    return [
        Trial.model_validate(
            {"task": task, "arm": arm, "value": value, "slice": part, "replicate": replicate,
             "cost": cost, "order": order[task]}
        )
        for task, value, part, replicate, cost in cells
    ]  # fmt: skip
