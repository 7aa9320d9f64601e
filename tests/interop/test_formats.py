"""Other tools' own files: Inspect, MLflow, keep/discard logs, resolved lists, tau-bench."""

import gzip
import io
import json
import zipfile

import pandas as pd
import pytest

from logoslab.errors import SourceError
from logoslab.interop import read_results


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


def log(samples, *, status="success", accuracy=None, scorer="match", reducer=("mean",)):
    metrics = {} if accuracy is None else {"accuracy": {"name": "accuracy", "value": accuracy}}
    return {
        "version": 2,
        "status": status,
        "eval": {"config": {"epochs_reducer": list(reducer)}},
        "results": {"scores": [{"name": scorer, "metrics": metrics}]},
        "samples": samples,
    }


def sample(name, letter, epoch=1, **more):
    return {"id": name, "epoch": epoch, "scores": {"match": {"value": letter}}, **more}


def packed(head, samples, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("header.json", json.dumps(head))
        for s in samples:
            archive.writestr(f"samples/{s['id']}_epoch_{s['epoch']}.json", json.dumps(s))
    return buffer.getvalue()


def test_inspect_json_and_eval_say_the_same(tmp_path):
    """Letters C, I, P, N are 1, 0, ½, 0; epochs are replicates; both forms give equal scores."""
    samples = [sample("a", "C"), sample("b", "I"), sample("a", "P", 2), sample("b", "N", 2)]
    whole = log(samples, accuracy=0.375)
    head = {k: v for k, v in whole.items() if k != "samples"}
    for path in (
        written(tmp_path, "log.json", whole),
        written(tmp_path, "log.eval", packed(head, samples)),
    ):
        found = read_results(path)
        assert found.format == "Inspect log"
        assert found.scores == {"a": 0.75, "b": 0.0}
        assert sorted(found.replicates) == [0, 0, 1, 1]
        assert "the headline (accuracy: 0.375) agrees with the details" in found.notes


def test_inspect_cost_time_and_metadata(tmp_path):
    """Cost is the sum of the models' stated costs, time is the sample's, metadata can slice."""
    usage = {"m1": {"total_cost": 0.25}, "m2": {"total_cost": 0.5}}
    samples = [
        sample("a", "C", model_usage=usage, total_time=2.5, metadata={"topic": "x"}),
        sample("b", "C", model_usage={"m1": {"input_tokens": 3}}, metadata={"topic": "y"}),
    ]
    found = read_results(written(tmp_path, "log.json", log(samples)), slice="topic")
    assert found.costs == (0.75, None)
    assert found.latencies == (2.5, None)
    assert found.slices == ("x", "y")


def test_an_inspect_headline_that_contradicts_its_samples(tmp_path):
    """Accuracy 0.9 over samples half of which are correct is refused; others are not compared."""
    samples = [sample("a", "C"), sample("b", "I")]
    path = written(tmp_path, "log.json", log(samples, accuracy=0.9))
    with pytest.raises(SourceError, match=r"got headline 0.9000 \(accuracy\), details 0.5000"):
        read_results(path)
    other = written(tmp_path, "max.json", log(samples, accuracy=0.9, reducer=("max",)))
    assert read_results(other).notes == ()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (log([], status="cancelled"), "an Inspect log of status 'cancelled' without samples"),
        (
            log([{"id": "a", "scores": {"f": {"value": 1}, "g": {"value": 0}}}]),
            "got several: f, g. Name it with --score",
        ),
        (packed({"status": "success"}, [])[:40] + b"x", "got no zip: "),
    ],
)
def test_inspect_logs_that_cannot_be_judged(tmp_path, data, message):
    """No samples, two scorers without a choice, a broken archive: named."""
    with pytest.raises(SourceError, match=message):
        read_results(written(tmp_path, "log.eval", data))


def test_an_eval_packed_with_zstd_says_how_to_convert(tmp_path):
    """Method 93 (zstd) in the archive's directory: the message names the converting command."""
    data = packed(log([]), [], zipfile.ZIP_STORED)
    # The method is a 16-bit field at offset 8 of the local header and 10 of the central one.
    directory = data.index(b"PK\x01\x02")
    changed = bytearray(data)
    changed[8:10] = changed[directory + 10 : directory + 12] = (93).to_bytes(2, "little")
    with pytest.raises(SourceError, match=r"newer logs use zstd.*inspect log convert --to json"):
        read_results(written(tmp_path, "log.eval", bytes(changed)))


def test_inspect_scores_with_keys_are_columns(tmp_path):
    """A score of several values is chosen as scorer/key."""
    samples = [{"id": "a", "epoch": 1, "scores": {"judge": {"value": {"tone": 1, "fact": 0}}}}]
    path = written(tmp_path, "log.json", log(samples, scorer="judge"))
    assert read_results(path, score="judge/fact").scores == {"a": 0.0}


def test_mlflow_tables(tmp_path):
    """Names and rows apart; structured inputs name the task; a metric's score column is found."""
    table = {
        "columns": ["inputs", "outputs", "correctness/v1/score", "latency"],
        "data": [[{"q": 1, "lang": "en"}, "x", 1, 0.5], [{"lang": "en", "q": 2}, "y", 0, 0.75]],
    }
    found = read_results(written(tmp_path, "eval_results_table.json", table))
    assert found.format == "MLflow evaluation table"
    assert found.tasks == ('{"lang": "en", "q": 1}', '{"lang": "en", "q": 2}')
    assert (found.values, found.latencies) == ((1.0, 0.0), (0.5, 0.75))
    table["columns"][1] = "tone/v1/score"
    with pytest.raises(SourceError, match="got several: tone/v1/score, correctness/v1/score"):
        read_results(written(tmp_path, "two.json", table))


def test_keep_discard_logs(tmp_path):
    """A crash has no score though the log says 0; status is no slice; the direction is open."""
    rows = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\na1\t1.37\t10\tkeep\tbase\n"
    rows += "b2\t1.34\t10\tkeep\tlr\nc3\t1.36\t10\tdiscard\twd\nd4\t0.0\t0\tcrash\tOOM, why\n"
    found = read_results(written(tmp_path, "results.tsv", rows.encode()))
    assert found.format == "keep/discard log"
    assert found.scores == {"a1": 1.37, "b2": 1.34, "c3": 1.36, "d4": None}
    assert found.slices is None
    assert found.notes[0].startswith("4 experiments: 2 keep, 1 discard, 1 crash; one draw each")
    assert "whether a higher or a lower val_bpb is better is not stated" in found.notes[1]


def test_resolved_lists(tmp_path):
    """A report names both sides; a bare list leaves the rest open and says so."""
    report = {
        "total_instances": 3, "resolved_instances": 1, "resolved_ids": ["a"],
        "unresolved_ids": ["b"], "error_ids": ["c"], "submitted_ids": ["a", "b", "c"],
    }  # fmt: skip
    found = read_results(written(tmp_path, "report.json", report))
    assert found.scores == {"a": 1.0, "b": 0.0, "c": 0.0}
    assert found.unlisted is None
    assert found.notes == (
        "the headline (resolved_instances 1 of 3: 0.333333) agrees with the details",
    )
    bare = read_results(written(tmp_path, "r.json", {"resolved": ["a"], "no_generation": ["b"]}))
    assert (bare.scores, bare.unlisted) == ({"a": 1.0, "b": 0.0}, 0.0)
    assert bare.notes[0].startswith("only resolved tasks are listed")
    ids = read_results(written(tmp_path, "ids.json", ["a", "b"]))
    assert (ids.scores, ids.unlisted) == ({"a": 1.0, "b": 1.0}, 0.0)


def test_the_headline_of_a_list_of_resolved_tasks_is_over_all_tasks(tmp_path):
    """51 ids of 500 are 10.2 %: the honest headline agrees, 52.8 % is refused with .1020 over 500.

    Without a total there is nothing to compare it with, which a note says.
    """
    ids = [f"t{i}" for i in range(51)]
    honest = {"resolved": ids, "total": 500, "resolved_pct": 10.2}
    found = read_results(written(tmp_path, "honest.json", honest))
    assert found.notes[-1] == "the headline (resolved_pct: 10.2) agrees with the details"
    with pytest.raises(
        SourceError, match=r"headline 0.5280 \(resolved_pct\), details 0.1020 over 500"
    ):
        read_results(written(tmp_path, "false.json", {**honest, "resolved_pct": 52.8}))
    bare = {"resolved": ids, "resolved_pct": 52.8}
    found = read_results(written(tmp_path, "bare.json", bare))
    assert found.notes[-1].startswith("the headline (resolved_pct: 52.8) cannot be checked")
    found = read_results(written(tmp_path, "ids.json", ids), headline=52.8)
    assert "cannot be checked" in found.notes[-1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"resolved_ids": ["a"], "unresolved_ids": ["a"]}, "'a' is both resolved and unresolved"),
        ({"resolved": ["a", "a"]}, "'a' stands twice among the resolved"),
        (
            {"resolved": ["a"], "resolved_count": 2},
            r"1 resolved task\(s\) listed, resolved_count is 2",
        ),
        ({"resolved": ["a", "b"], "total": 1}, "2 tasks are listed and 1 are said to be all"),
        (
            {"resolved_ids": ["a"], "unresolved_ids": ["b"], "resolved_instances": 2},
            r"headline 1.0000 \(resolved_instances 2 of 2\), details 0.5000 over 2 tasks",
        ),
        (
            {"resolved": 90, "per_instance_details": {"a": {"resolved": True}, "b": False}},
            r"headline 0.9000 \(resolved\), details 0.5000 over 2 tasks",
        ),
    ],
)
def test_lists_that_contradict_themselves(tmp_path, data, message):
    """Both sides at once, twice, another count than listed, another share than the details."""
    with pytest.raises(SourceError, match=message):
        read_results(written(tmp_path, "r.json", data))


def test_tau_bench_in_both_versions(tmp_path):
    """task_id, trial, reward as JSON lines; tau2's simulations with the agent's cost and time."""
    rows = [{"task_id": 0, "trial": t, "reward": float(t), "traj": []} for t in (0, 1)]
    lines = "\n".join(map(json.dumps, rows)).encode()
    found = read_results(written(tmp_path, "t.jsonl.gz", gzip.compress(lines)))
    assert (found.format, found.scores) == ("tau-bench trajectories", {"0": 0.5})
    assert found.guessed == ()
    two = {"simulations": [{"task_id": "x", "trial": 0, "reward_info": {"reward": 1.0},
                            "agent_cost": 0.02, "duration": 31.0}]}  # fmt: skip
    found = read_results(written(tmp_path, "two.json", two))
    assert (found.values, found.costs, found.latencies) == ((1.0,), (0.02,), (31.0,))


# -- published files ------------------------------------------------------------------------------


def test_published_inspect_logs(shared):
    """The logs of Inspect's own tests: read, or refused for the reason that the name says."""
    files = sorted((shared / "agent_traces" / "inspect").iterdir())
    read, refused = {}, []
    for file in files:
        try:
            read[file.name] = read_results(file)
        except SourceError:
            refused.append(file.name)
    assert {name for name in refused if "skeleton" not in name} == {
        "analysis__test_logs__2025-05-12T20-28-13-04-00_no-samples.json"
    }
    popularity = next(r for name, r in read.items() if "popularity" in name)
    assert (len(popularity.tasks), popularity.task_mean) == (10, 0.8)
    streaming = next(r for name, r in read.items() if "streaming" in name)
    assert (len(streaming.tasks), streaming.task_mean) == (4, 0.75)


def test_published_tau_bench_trajectories(shared):
    """34 tasks × 4 trials, pass^1 0.4412 (the folder's README)."""
    found = read_results(shared / "tau_bench_airline" / "gpt4o_airline_trajectories.jsonl.gz")
    assert (len(found.scores), len(found.tasks)) == (34, 136)
    assert found.task_mean == pytest.approx(0.4412, abs=5e-5)


def test_the_submission_whose_details_contradict_its_headline(shared):
    """20250720 claude-3-7-sonnet: 51 of 500 resolved (0.102) under a headline of 52.8 %.

    Built in the leaderboard's own form from the two published tables; refused with both numbers,
    and a note with both when the headline is ignored on purpose.
    """
    folder = "20250720_mini-v0.0.0-claude-3-7-sonnet-20250219"
    outcomes = pd.read_parquet(shared / "swebench_bashonly" / "outcomes.parquet")
    board = pd.read_csv(shared / "swebench_bashonly" / "leaderboard_submissions.csv.gz")
    details = outcomes[outcomes["folder"] == folder]
    (stated,) = board.query("leaderboard == 'bash-only' and folder == @folder")["resolved_pct"]
    assert (int(details["resolved"].sum()), stated) == (51, 52.8)
    with pytest.raises(SourceError, match=r"headline 0.5280 .*details 0.1020 over 500 tasks"):
        read_results(details, headline=stated)
    ignored = read_results(details, headline="ignore")
    assert ignored.task_mean == pytest.approx(0.102)


def test_another_run_within_half_a_point_is_noted(shared):
    """sonnet-4's headline 64.93 beside details of 0.648 is named, and not refused."""
    outcomes = pd.read_parquet(shared / "swebench_bashonly" / "outcomes.parquet")
    found = read_results(
        outcomes[outcomes["folder"].str.contains("claude-sonnet-4-2025")], headline=64.93
    )
    assert "headline 0.6493 (headline given by the caller), details 0.6480" in found.notes[-1]


def test_metr_means_over_tasks_and_over_runs(shared):
    """o1: 0.5593 over tasks and 0.5631 over runs (the folder's README); the note has both."""
    runs = pd.read_parquet(shared / "metr_agent_runs" / "runs.parquet")
    found = read_results(runs[runs["alias"] == "o1"], score="score_binarized")
    assert found.task_mean == pytest.approx(0.5593, abs=5e-5)
    assert found.run_mean == pytest.approx(0.5631, abs=5e-5)
    assert "the mean over tasks is 0.5593, the mean over runs 0.5631" in found.notes[-1]
