"""Keep/discard logs: one row an experiment with its commit, metric, status and description.

The form of autoresearch's ``results.tsv``: ``commit  val_bpb  memory_gb  status  description``.
"""

from __future__ import annotations

from collections import Counter

from logoslab.interop.table import Table

STATUS = frozenset({"keep", "discard", "crash"})


def fits(table: Table) -> bool:
    """Whether there is a commit and a status of keep, discard or crash in every row."""
    status = [str(cell).strip().casefold() for cell in table.columns.get("status", ())]
    return "commit" in table.columns and bool(status) and set(status) <= STATUS


def read(table: Table) -> Table:
    """The log with its experiments as tasks, its first measure as score.

    The score of a crash is unmeasured, whatever stands there (logs write 0). The status is no slice
    of its own accord: it says what came of the score, and two logs differ in it.
    """
    status = [str(cell).strip().casefold() for cell in table.columns["status"]]
    score = next(n for n in table.columns if n not in ("commit", "status", "description"))
    values = [None if s == "crash" else v for s, v in
              zip(status, table.columns[score], strict=True)]  # fmt: skip
    counts = Counter(status)
    tally = ", ".join(f"{counts[s]} {s}" for s in ("keep", "discard", "crash"))
    return Table(
        "keep/discard log",
        {**table.columns, "status": status, score: values},
        fixed={"task": "commit", "score": score},
        notes=(
            f"{len(status)} experiments: {tally}; one draw each, so a keep is one draw against "
            "another and says nothing about noise",
            f"whether a higher or a lower {score} is better is not stated in the log",
        ),
    )
