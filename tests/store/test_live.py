"""The live pointer: old or new, never between."""

from __future__ import annotations

from pathlib import Path

import pytest

from logoslab.errors import StoreError
from logoslab.store import Live, LivePointer
from logoslab.store.live import SWAP_STEPS
from tests.store.conftest import Script

A, B, C = (f"sha256:{letter * 64}" for letter in "abc")


def test_the_first_swap_and_a_rollback(tmp_path: Path) -> None:
    """Nothing → A → B → back to A; each knows what was before it."""
    pointer = LivePointer(tmp_path / "live")
    assert pointer.read() is None
    assert pointer.swap(A, None) == Live(pack=A, previous=None)
    assert pointer.swap(B, A) == Live(pack=B, previous=A)
    assert pointer.swap(A, B) == pointer.read() == Live(pack=A, previous=B)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["live", "live.lock"]


@pytest.mark.parametrize(("expected", "said"), [(C, C), (None, "no live pack")])
def test_a_swap_against_something_else_changes_no_byte(
    tmp_path: Path, expected: str | None, said: str
) -> None:
    """The pointer moves only from what the change was judged against."""
    pointer = LivePointer(tmp_path / "live")
    pointer.swap(A, None)
    before = pointer.path.read_bytes()
    with pytest.raises(StoreError) as refusal:
        pointer.swap(B, expected)
    assert str(refusal.value) == (
        f"live pointer swap: allowed {said}, which the change was judged against; got {A}. "
        "Judge the candidate again against what is live now."
    )
    assert pointer.path.read_bytes() == before


def test_a_swap_expecting_a_pack_needs_one(tmp_path: Path) -> None:
    """Nothing is live, so nothing can be replaced; no file appears."""
    with pytest.raises(StoreError, match="got no live pack"):
        LivePointer(tmp_path / "live").swap(B, A)
    assert not (tmp_path / "live").exists()


SWAP = """
def fault(step):
    if step == sys.argv[2]:
        os._exit(9)

LivePointer(lab / "live", fault).swap("sha256:" + "b" * 64, "sha256:" + "a" * 64)
"""


@pytest.mark.parametrize("step", SWAP_STEPS)
def test_a_kill_at_any_step_leaves_old_or_new(tmp_path: Path, script: Script, step: str) -> None:
    """A process that dies before a step leaves A until the rename and B after it, byte for byte,
    and the next swap works."""
    pointer = LivePointer(tmp_path / "live")
    pointer.swap(A, None)
    old = pointer.path.read_bytes()
    killed = script(SWAP, step)
    assert killed.communicate()[1] == ""
    assert killed.returncode == 9
    renamed = SWAP_STEPS.index(step) > SWAP_STEPS.index("rename")
    assert pointer.read() == (Live(pack=B, previous=A) if renamed else Live(pack=A))
    assert renamed or pointer.path.read_bytes() == old
    assert pointer.swap(C, B if renamed else A).pack == C
    assert sorted(p.name for p in tmp_path.iterdir()) == ["live", "live.lock"]


RACE = """
print("ready", flush=True)
sys.stdin.readline()
pointer, won = LivePointer(lab / "live"), 0
for turn in range(60):
    try:
        pointer.swap(f"sha256:{turn:063}" + sys.argv[2], pointer.read().pack)
        won += 1
    except Exception as lost:
        assert "live pointer swap" in str(lost), lost
    with_history = pointer.read()
    assert with_history.pack != with_history.previous
print(won)
"""


def test_racing_processes_never_break_the_pointer(tmp_path: Path, script: Script) -> None:
    """Two processes swap as fast as they can: each read is a whole pointer, each loser is told."""
    pointer = LivePointer(tmp_path / "live")
    pointer.swap(A, None)
    racers = [script(RACE, "a"), script(RACE, "b")]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    won = 0
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    for racer in racers:
        out, errors = racer.communicate()
        assert errors == ""
        won += int(out)
    assert 60 <= won <= 120


def test_of_two_swaps_from_one_pack_one_wins(tmp_path: Path) -> None:
    """Two promotions judged against A: the second is refused although both read A before."""
    first, second = LivePointer(tmp_path / "live"), LivePointer(tmp_path / "live")
    first.swap(A, None)
    seen = second.read()
    assert seen is not None
    first.swap(B, A)
    with pytest.raises(StoreError, match="live pointer swap"):
        second.swap(C, seen.pack)
    assert first.read() == Live(pack=B, previous=A)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"pack":"sha256:1","previous":null}\n', f'{{"pack": "{A}"}}'.encode()]
)
def test_a_pointer_that_was_edited_is_refused(tmp_path: Path, content: bytes) -> None:
    """Anything but the bytes of a swap is an error, never a guess."""
    path = tmp_path / "live"
    path.write_bytes(content)
    with pytest.raises(StoreError) as refusal:
        LivePointer(path).read()
    assert str(refusal.value) == (
        "live pointer live: allowed the bytes that a promotion or rollback wrote; got "
        f"{content.decode()}. The audit log names the last promoted pack; delete the file and "
        "roll back to that pack."
    )
    assert path.read_bytes() == content
