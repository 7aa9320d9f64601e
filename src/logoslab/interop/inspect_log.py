"""Inspect logs, read from their bytes: ``.eval`` (a zip of JSON) and ``.json``."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from logoslab.interop.source import MAX_BYTES
from logoslab.interop.table import Headline, Table, of_records

# Inspect's own letters: correct, incorrect, partial, no answer.
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
MEANS: tuple[set[str], ...] = ({"mean"}, set())
HEADS = ("header.json", "_journal/start.json")


def fits(data: Any) -> bool:
    """Whether it is an object with the parts that every Inspect log has."""
    return isinstance(data, Mapping) and {"version", "status", "eval"} <= data.keys()


def read_zip(data: bytes) -> Table:
    """A ``.eval`` file.

    Raises
    ------
    ValueError
        When it is no zip, too large, has no header, or is packed in a way (zstd) that this Python
        cannot unpack; the message then says how to convert it.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise ValueError("more than 200 MB when unpacked")
            names = archive.namelist()
            head = next((name for name in HEADS if name in names), None)
            if head is None:
                raise ValueError("a zip without header.json, so no Inspect log")
            log = json.loads(archive.read(head))
            samples = [json.loads(archive.read(name)) for name in names
                       if name.startswith("samples/") and name.endswith(".json")]  # fmt: skip
    except NotImplementedError as cause:
        raise ValueError(
            "members packed with a method that this Python cannot unpack (newer logs use zstd); "
            "`inspect log convert --to json` makes a log that can be read"
        ) from cause
    except zipfile.BadZipFile as cause:
        raise ValueError(f"no zip: {cause}") from cause
    return read({**log, "samples": samples, "status": log.get("status", "started")})


def read(log: Mapping[str, Any]) -> Table:
    """One row a sample and epoch, one column a scorer (``scorer/key`` for scores with keys).

    Metadata of the samples are columns too, so they can be slices. Cost stays unknown unless every
    model's usage states it.

    Raises
    ------
    ValueError
        When there are no samples or a sample is not one.
    """
    samples = log.get("samples") or []
    if not samples or not all(isinstance(s, Mapping) and "id" in s for s in samples):
        raise ValueError(f"an Inspect log of status {log['status']!r} without samples")
    scores = [dict(_scores(sample)) for sample in samples]
    scorers = tuple(dict.fromkeys(name for row in scores for name in row))
    ordered = sorted(zip(samples, scores, strict=True), key=lambda pair: pair[0].get("epoch") or 1)
    rows = [{**_facts(sample), **row} for sample, row in ordered]
    notes = [] if log["status"] == "success" else [f"the log's status is {log['status']!r}"]
    errors = sum(bool(sample.get("error")) for sample in samples)
    if errors:
        notes.append(f"{errors} sample(s) ended in an error")
    return Table(
        "Inspect log", of_records(rows),
        fixed={"task": "id", "replicate": "epoch", "cost": "total_cost", "latency": "total_time"},
        candidates=scorers, headline=_headline(log, scorers), notes=tuple(notes),
    )  # fmt: skip


def _facts(sample: Mapping[str, Any]) -> dict[str, Any]:
    metadata = sample.get("metadata")
    return {
        **(metadata if isinstance(metadata, Mapping) else {}),
        "id": sample["id"],
        "epoch": sample.get("epoch") or 1,
        "total_time": sample.get("total_time"),
        "total_cost": _cost(sample.get("model_usage")),
    }


def _cost(usage: Any) -> float | None:
    costs = [u.get("total_cost") for u in usage.values()] if isinstance(usage, Mapping) else []
    return None if not costs or None in costs else float(sum(costs))


def _scores(sample: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Scorer → value; logs before 2024 have one ``score`` without a name."""
    named = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
    for scorer, score in named.items():
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, Mapping):
            yield from ((f"{scorer}/{key}", _number(part)) for key, part in value.items())
        else:
            yield scorer, _number(value)


def _number(value: Any) -> Any:
    return LETTERS.get(value, value) if isinstance(value, str) else value


def _headline(log: Mapping[str, Any], scorers: Sequence[str]) -> Headline | None:
    """The accuracy of the only scorer, when epochs are reduced by their mean as we do."""
    results, config = log.get("results") or {}, log["eval"].get("config") or {}
    reducers = set(config.get("epochs_reducer") or ())
    found = [s for s in results.get("scores") or () if s.get("name") in scorers]
    if len(found) != 1 or len(scorers) != 1 or reducers not in MEANS:
        return None
    metrics = found[0].get("metrics") or {}
    stated = next((metrics[n] for n in ("accuracy", "mean") if n in metrics), None)
    return Headline(float(stated["value"]), stated["name"]) if stated else None
