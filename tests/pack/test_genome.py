"""The overlay operator ⊔ of LOGOS Eq. 23."""

import pytest
from hypothesis import given, settings

from logoslab.errors import GenomeConflict
from logoslab.pack.genome import Genome, overlay
from logoslab.testing.strategies import genomes

RIGHT = dict.fromkeys(
    ("route", "memory", "verify", "promotion", "safety", "sandbox", "tools", "attention"), "right"
)


def merged(*parts, precedence=None):
    """Overlay from the left; None when it conflicts."""
    try:
        result = parts[0]
        for part in parts[1:]:
            result = overlay(result, part, precedence)
    except GenomeConflict:
        return None
    return result


def test_unset_never_clobbers():
    """A None on the right keeps the default; a None on the left is filled."""
    base = Genome(route={"tiers": 3, "floor": None})
    task = Genome(route={"tiers": None, "floor": 0.1})
    assert overlay(base, task).route == {"tiers": 3, "floor": 0.1}


def test_concrete_disagreement_without_precedence_is_a_conflict():
    """Two values and no ranking is a diagnostic that names path, both values and the reason."""
    with pytest.raises(GenomeConflict) as caught:
        overlay(Genome(route={"tiers": 3}), Genome(route={"tiers": 4}))
    assert str(caught.value) == (
        "overlay: allowed one concrete value a field, or a declared precedence; got route.tiers: "
        "3 against 4 (precedence). Declare precedence for each path, or unset one side."
    )


def test_declared_precedence_resolves_and_a_nearer_path_outranks_its_parent():
    """``route`` prefers the left, but ``route.tiers`` prefers the right."""
    base, task = Genome(route={"tiers": 3, "floor": 1}), Genome(route={"tiers": 4, "floor": 2})
    result = overlay(base, task, {"route": "left", "route.tiers": "right"})
    assert result.route == {"tiers": 4, "floor": 1}


@pytest.mark.parametrize(("left", "right"), [(3, "3"), ({"a": 1}, 1), (True, 1), ([1], 1)])
def test_type_mismatch_is_a_conflict_whatever_the_precedence(left, right):
    """Precedence ranks values of one type; it never coerces."""
    with pytest.raises(GenomeConflict, match=r"\(type\)"):
        overlay(Genome(route={"x": left}), Genome(route={"x": right}), RIGHT)


@given(genomes())
def test_the_empty_genome_is_the_identity(genome):
    """Overlaying nothing, on either side, changes nothing that is set."""
    assert overlay(Genome(), overlay(genome, Genome())) == overlay(Genome(), genome)


@settings(max_examples=300)
@given(genomes(), genomes(), genomes())
def test_overlay_is_associative_where_defined(a, b, c):
    """When both bracketings are defined they are equal, with and without precedence."""
    for precedence in (None, RIGHT):
        try:
            left = overlay(overlay(a, b, precedence), c, precedence)
            right = overlay(a, overlay(b, c, precedence), precedence)
        except GenomeConflict:
            continue
        assert left == right


@given(genomes())
def test_overlay_is_idempotent(genome):
    """A genome agrees with itself."""
    assert merged(genome, genome) == merged(genome, Genome())
