"""The portfolio e-process one observation at a time: evidence that may be read at any moment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from numpy.typing import ArrayLike

from logoslab.errors import EvidenceError
from logoslab.stats._check import choice, closed_unit, open_unit, positive, whole
from logoslab.stats.bets import resolve_bets
from logoslab.stats.sampling import SamplingContract

Tail = Literal["upper", "lower"]

# Inside a block wealth is a raw product. The block is short enough that no product leaves
# [e^-SAFE_LOG, e^SAFE_LOG], so nothing under- or overflows and a bet that has lost almost
# everything keeps its exact logarithm and can recover.
BLOCK: Final = 64
SAFE_LOG: Final = 150.0
# A bet this far below the best one cannot matter inside one block: e^(150 − 340) against e^−150.
# It still multiplies, so its logarithm keeps growing or shrinking exactly.
FLOOR: Final = -340.0
# Stands for log 0 in the weight of an unused part: finite, so snapshots stay plain JSON.
NOTHING: Final = -1e300


@dataclass(frozen=True, slots=True)
class PortfolioSpec:
    """Checked parameters of a portfolio.

    `mean` is the null mean as the process sees it: m0, or 1 − m0 when the lower tail runs the
    process on 1 − Y.
    """

    m0: float
    mean: float
    c: float
    anchor_weight: float
    bets: tuple[float, ...]
    v_min: float
    n_min: int
    tail: Tail

    @classmethod
    def checked(
        cls,
        m0: float,
        c: float,
        anchor_weight: float,
        bets: str | ArrayLike | None,
        v_min: float,
        n_min: int,
        tail: str,
    ) -> PortfolioSpec:
        """The parameters, refused one by one when outside their domain."""
        open_unit(m0, "m0")
        open_unit(c, "c")
        side: Tail = "lower" if choice(tail, ("upper", "lower"), "tail") == "lower" else "upper"
        mean = open_unit(1.0 - m0 if side == "lower" else float(m0), "1 - m0")
        return cls(
            m0=float(m0),
            mean=mean,
            c=float(c),
            anchor_weight=closed_unit(anchor_weight, "anchor_weight"),
            bets=tuple(resolve_bets(bets, mean, c).tolist()),
            v_min=positive(v_min, "v_min"),
            n_min=whole(n_min, 1, "n_min"),
            tail=side,
        )

    @property
    def max_bet(self) -> float:
        """c/m0, the largest bet that keeps at least 1 − c of the wealth after any observation."""
        return self.c / self.mean

    @property
    def block(self) -> int:
        """Observations per raw product; see SAFE_LOG."""
        return safe_block(self.mean, self.c)

    @property
    def log_weights(self) -> list[float]:
        """Log starting wealth of each fixed bet, then of the anchor; together they hold 1."""
        w, share = self.anchor_weight, (1.0 - self.anchor_weight) / len(self.bets)
        return [*[_log(share)] * len(self.bets), _log(w)]


def safe_block(mean: float, c: float) -> int:
    """How many factors 1 + λ(y − mean), λ <= c/mean, multiply without leaving the safe range."""
    steepest = max(-math.log1p(-c), math.log1p(c * (1.0 - mean) / mean))
    return max(1, min(BLOCK, int(SAFE_LOG / steepest)))


class PortfolioEProcess:
    """Evidence against a bounded mean, valid at every stopping time.

    Null hypothesis: E[Y_t | past] <= m0 for every t (upper tail), or >= m0 (lower tail).

    K_t = w·Π(1 + λ_s(Y_s − m0)) + (1 − w)/|G|·Σ_j Π(1 + λ_j(Y_s − m0)), with fixed bets λ_j and
    the anchor bet λ_s = clip((mean − m0)/max(var, v_min), 0, c/m0) computed from Y_1..Y_{s−1}
    only, 0 while s − 1 < n_min; var is the population variance of the past.

    Under the null P(sup_t K_t >= 1/α) <= α (Ville), so one may look after every observation.

    Parameters
    ----------
    m0 : float
        Mean under the null, in (0, 1). At 0 or 1 the bet would be unbounded.
    c : float, default 0.9
        Largest share of the wealth at risk, in (0, 1).
    anchor_weight : float, default 0.5
        Starting wealth w of the anchor bet, in [0, 1].
    bets : str or array_like, optional
        "quadratic" (default), "linear", "geometric", or explicit bets in [0, c/m0].
    v_min : float, default 1e-3
        Floor of the variance in the anchor bet.
    n_min : int, default 5
        Observations before the anchor bets, at least 1.
    tail : {"upper", "lower"}, default "upper"
        "lower" tests H0: E[Y] >= m0 by running on 1 − Y with 1 − m0.
    contract : SamplingContract, default IID
        How the observations are drawn; `claim` and the printed form say what that supports.

    Raises
    ------
    InvalidValue
        On a parameter outside its domain.

    Notes
    -----
    State and time per observation do not depend on t. LOGOS Eq. 89-90; Waudby-Smith & Ramdas 2024,
    "Estimating means of bounded random variables by betting".

    Examples
    --------
    >>> process = PortfolioEProcess(0.5, anchor_weight=0.0, bets=[0.5])
    >>> round(math.exp(process.update(1).update(1).update(0).log_wealth), 6)  # 1.25² · 0.75
    1.171875
    """

    _values: Sequence[float]
    _anchor: float
    _wealth: float
    _best: float
    _left: int

    def __init__(
        self,
        m0: float,
        *,
        c: float = 0.9,
        anchor_weight: float = 0.5,
        bets: str | ArrayLike | None = None,
        v_min: float = 1e-3,
        n_min: int = 5,
        tail: Tail = "upper",
        contract: SamplingContract = SamplingContract.IID,
    ) -> None:
        spec = PortfolioSpec.checked(m0, c, anchor_weight, bets, v_min, n_min, tail)
        self._spec, self._grid, self._lower = spec, list(spec.bets), spec.tail == "lower"
        self._mean, self._max_bet = spec.mean, spec.max_bet
        self._v_min, self._n_min = spec.v_min, spec.n_min
        self._step = _step_eight if len(spec.bets) == 8 else _step
        self._n, self._sum, self._squares, self._sup = 0, 0.0, 0.0, 0.0
        self._logs = spec.log_weights
        self._open_block()
        self.contract = SamplingContract(contract)

    def __repr__(self) -> str:
        sign = ">=" if self._lower else "<="
        return (
            f"PortfolioEProcess(H0: mean {sign} {self._spec.m0:g}, n={self._n}, "
            f"log_wealth={self.log_wealth:.4g}, p_value={self.p_value:.3g}; {self.contract})"
        )

    def update(self, y: float) -> Self:
        """Take one observation in [0, 1] and return the process.

        Raises
        ------
        EvidenceError
            When `y` is not a number in [0, 1]; the message names index and value, and the state
            stays as it was.
        """
        try:
            fits = 0.0 <= y <= 1.0
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise _not_a_share(y, self._n)
        y = 1.0 - float(y) if self._lower else float(y)
        n = self._n
        gain = y - self._mean
        bet = self._anchor_bet(n) if n >= self._n_min else 0.0
        self._anchor = anchor = self._anchor * (1.0 + bet * gain)
        self._values = values = self._step(self._values, self._grid, gain)
        self._wealth = wealth = sum(values, anchor)
        if wealth > self._best:
            self._best = wealth
        self._n = n + 1
        self._sum += y
        self._squares += y * y
        self._left -= 1
        if not self._left:
            self._close_block()
            self._open_block()
        return self

    @property
    def n(self) -> int:
        """Observations so far."""
        return self._n

    @property
    def log_wealth(self) -> float:
        """log K_n; 0 before the first observation."""
        return self._base + math.log(self._wealth) if self._n else 0.0

    @property
    def sup_log_wealth(self) -> float:
        """The largest log K_t so far, K_0 = 1 included; decisions compare it with log(1/α)."""
        best = self._base + math.log(self._best) if self._best else -math.inf
        return max(self._sup, best)

    @property
    def p_value(self) -> float:
        """min(1, 1/sup K): a p-value at every stopping time."""
        return math.exp(-self.sup_log_wealth)

    @property
    def claim(self) -> str:
        """The sentence that this evidence supports under its sampling contract."""
        return self.contract.claim

    def snapshot(self) -> dict[str, Any]:
        """Parameters and state as plain JSON values; `restore` continues bit for bit."""
        spec = self._spec
        return {
            "kind": "portfolio_e_process",
            "version": 1,
            "parameters": {
                "m0": spec.m0,
                "c": spec.c,
                "anchor_weight": spec.anchor_weight,
                "bets": list(spec.bets),
                "v_min": spec.v_min,
                "n_min": spec.n_min,
                "tail": spec.tail,
                "contract": self.contract.value,
            },
            "state": {name: _copied(getattr(self, f"_{name}")) for name in _STATE},
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """A process that continues where `snapshot` was taken.

        Raises
        ------
        EvidenceError
            When the snapshot is not one of this class and version, or lacks a part.
        """
        if (snapshot.get("kind"), snapshot.get("version")) != ("portfolio_e_process", 1):
            raise EvidenceError(
                "snapshot",
                got=f"kind {snapshot.get('kind')!r}, version {snapshot.get('version')!r}",
                allowed="kind 'portfolio_e_process', version 1",
                next_step="Pass what PortfolioEProcess.snapshot() returned.",
            )
        try:
            process = cls(**snapshot["parameters"])
            for name in _STATE:
                setattr(process, f"_{name}", _copied(snapshot["state"][name]))
        except (KeyError, TypeError) as missing:
            raise EvidenceError(
                "snapshot",
                got=f"{missing}",
                allowed="every parameter and every part of the state",
                next_step="Take a new snapshot; this one is incomplete.",
            ) from missing
        return process

    def _anchor_bet(self, n: int) -> float:
        """The bet of Eq. 90 after n observations, a function of the past alone."""
        mean = self._sum / n
        excess = mean - self._mean
        if excess <= 0.0:
            return 0.0
        spread = self._squares / n - mean * mean
        return min(excess / max(spread, self._v_min), self._max_bet)

    def _open_block(self) -> None:
        self._base = base = max(self._logs)
        self._starts = [max(log - base, FLOOR) for log in self._logs]
        *self._values, self._anchor = [math.exp(start) for start in self._starts]
        self._wealth, self._best = sum(self._values, self._anchor), 0.0
        self._left = self._spec.block

    def _close_block(self) -> None:
        self._sup = self.sup_log_wealth
        grown = zip(self._logs, [*self._values, self._anchor], self._starts, strict=True)
        self._logs = [log + math.log(value) - start for log, value, start in grown]


def _step(values: Sequence[float], grid: Sequence[float], gain: float) -> Sequence[float]:
    return [value * (1.0 + bet * gain) for value, bet in zip(values, grid, strict=True)]


def _step_eight(values: Sequence[float], grid: Sequence[float], gain: float) -> Sequence[float]:
    """`_step` for the default grid of eight: written out, an update costs a third less."""
    a, b, c, d, e, f, g, h = values
    i, j, k, m, n, o, p, q = grid
    return (
        a * (1.0 + i * gain),
        b * (1.0 + j * gain),
        c * (1.0 + k * gain),
        d * (1.0 + m * gain),
        e * (1.0 + n * gain),
        f * (1.0 + o * gain),
        g * (1.0 + p * gain),
        h * (1.0 + q * gain),
    )


_STATE: Final = (
    "n", "sum", "squares", "sup", "best", "left", "base", "wealth", "logs", "starts", "values",
    "anchor",
)  # fmt: skip


def _copied(part: Any) -> Any:
    return list(part) if isinstance(part, (list, tuple)) else part


def _log(share: float) -> float:
    return math.log(share) if share > 0.0 else NOTHING


def _not_a_share(y: object, index: int) -> EvidenceError:
    return EvidenceError(
        "y",
        got=f"{y!r} at index {index}",
        allowed="numbers in [0, 1]",
        next_step="Rescale or repair the values; they are never clipped.",
    )
