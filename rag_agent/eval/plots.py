"""Two pictures of an evaluation, as SVG: quality against time, and recall against tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_agent.errors import MissingDependency

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = ("#1a6b54", "#b3541e", "#3b5b92", "#7a4a8c", "#a08a2e", "#6f7580")
_MARKERS = "os^vDPX<>p*"  # more than colours, so that a pair of them is had once only
_LINES = ("-", "--", ":")
_HEIGHT, _WIDTH, _LEGEND = 4.5, 6.8, 3.2  # inches


@dataclass(frozen=True, slots=True)
class Point:
    """A method: its quality in [0, 1], and the milliseconds that half of its questions took."""

    name: str
    quality: float
    p50_ms: float
    ours: bool = True


@dataclass(frozen=True, slots=True)
class Curve:
    """Of a run the recall at each budget, by one rule of what counts as reached."""

    run: str
    rule: str
    recalls: Sequence[float]


def plot_quality(points: Sequence[Point], measure: str, out: Path) -> None:
    """Quality against the time of a question, on a logarithmic scale; the best first in the list.

    Raises:
        MissingDependency: there is no matplotlib.
    """
    with _style():
        figure, axes = _axes(_WIDTH + _LEGEND)
        for number, point in enumerate(sorted(points, key=lambda point: -point.quality)):
            color = _COLORS[number % len(_COLORS)]
            axes.scatter(
                [point.p50_ms],
                [point.quality],
                s=48,
                marker=_MARKERS[number % len(_MARKERS)],
                edgecolors=color,
                facecolors=color if point.ours else "none",
                label=f"{point.name}: {point.quality:.3f}, {point.p50_ms:.3g} ms",
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        # Names beside the points would lie on each other: the best methods are alike.
        figure.legend(loc="outside right upper", frameon=False)
        axes.set_ylim(0, 1)
        axes.set_xlabel("milliseconds a question (median; hollow: as published, on other machines)")
        axes.set_ylabel(f"{measure}, mean over repositories")
        _save(figure, out)


def plot_recall(curves: Sequence[Curve], budgets: Sequence[int], out: Path) -> None:
    """Share of the relevant files that were reached, against the tokens of answers that were read.

    Curves of one run have one colour, those of one rule one kind of line.

    Raises:
        MissingDependency: there is no matplotlib.
    """
    with _style():
        figure, axes = _axes(_WIDTH)
        runs = list(dict.fromkeys(curve.run for curve in curves))
        rules = list(dict.fromkeys(curve.rule for curve in curves))
        for curve in curves:
            axes.plot(
                budgets,
                curve.recalls,
                label=f"{curve.run}, {curve.rule}",
                color=_COLORS[runs.index(curve.run) % len(_COLORS)],
                linestyle=_LINES[rules.index(curve.rule) % len(_LINES)],
            )
        axes.set_xscale("log")
        ticks = [500, 1000, 2000, 4000, 8000]
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlim(budgets[0], budgets[-1])
        axes.set_ylim(0, 1)
        axes.set_xlabel("tokens of answers that were read")
        axes.set_ylabel("relevant files reached, mean over repositories")
        axes.legend(loc="lower right", frameon=False)
        _save(figure, out)


def require_matplotlib() -> None:
    """Find out before the work, and not after it, that nothing can be drawn.

    Raises:
        MissingDependency: there is no matplotlib.
    """
    try:
        import matplotlib.figure  # noqa: F401 - looking for it is the point
    except ImportError as error:
        raise MissingDependency(
            "plots", "they need matplotlib", "pip install 'rag_agent[eval]'"
        ) from error


def _style() -> AbstractContextManager[None]:
    require_matplotlib()
    import matplotlib

    # Text stays text: small files that a search finds words in. Names of parts do not change from
    # run to run, so that a picture changes only when its figures do.
    return matplotlib.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "rag_agent", "font.size": 9}
    )


def _axes(width: float) -> tuple[Figure, Axes]:
    # Not pyplot, which keeps every figure and looks for a screen.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, _HEIGHT), layout="constrained")
    axes = figure.subplots()
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Figure, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(out.name + ".temporary")
    figure.savefig(temporary, format="svg", metadata={"Date": None})
    temporary.replace(out)
