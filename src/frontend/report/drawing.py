"""The steps of a program as an SVG: one card per step in rows, data flowing down."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from .model import Step, Unit, View

COLUMNS = 4
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 204, 50, 26, 34, 14
MOST = 600  # cards; a longer program is cut, and says so


@dataclass(frozen=True, slots=True)
class Card:
    step: Step
    x: float
    y: float


def drawing(view: View, prefix: str, hue: dict[str, int]) -> str:
    """Returns the SVG; cards carry their unit's key with `prefix` in data-u."""
    steps = view.steps[:MOST]
    if not steps:
        return ""
    cards = _place(steps)
    units = {u.key: u for u in view.units}
    width = max(c.x for c in cards.values()) + WIDTH + MARGIN
    height = max(c.y for c in cards.values()) + HEIGHT + MARGIN
    edges = [_edge(cards[a], c) for c in cards.values() for a in c.step.feeds_from if a in cards]
    boxes = [_card(c, units[c.step.unit], prefix, hue) for c in cards.values()]
    return (f'<svg class=flow viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
            f'role=img aria-label="Data flow between {len(view.steps)} steps">'
            f'<g class=edges>{"".join(edges)}</g>{"".join(boxes)}</svg>')


def _place(steps: tuple[Step, ...]) -> dict[int, Card]:
    """Each step below all it takes values from; a row holds COLUMNS cards at most."""
    depth = _depths(steps)
    layers: dict[int, list[Step]] = {}
    for s in steps:
        layers.setdefault(depth[s.number], []).append(s)
    cards: dict[int, Card] = {}
    row = 0
    for _, layer in sorted(layers.items()):
        layer.sort(key=lambda s: (_above(s, cards), s.number))
        for k in range(0, len(layer), COLUMNS):
            part = layer[k: k + COLUMNS]
            for place, s in zip(_columns(part, cards), part, strict=True):
                x = MARGIN + place * (WIDTH + GAP_X)
                cards[s.number] = Card(s, x, MARGIN + row * (HEIGHT + GAP_Y))
            row += 1
    return cards


def _depths(steps: tuple[Step, ...]) -> dict[int, int]:
    """Each step one below the lowest that feeds it; one that nothing feeds stands just above its readers."""
    depth: dict[int, int] = {}
    first_reader: dict[int, int] = {}
    for s in steps:
        depth[s.number] = 1 + max((depth[a] for a in s.feeds_from if a in depth), default=-1)
        for a in s.feeds_from:
            first_reader[a] = min(first_reader.get(a, depth[s.number]), depth[s.number])
    for s in steps:
        if not s.feeds_from:
            before = depth.get(s.number - 1, 0)
            depth[s.number] = first_reader[s.number] - 1 if s.number in first_reader else before
    return depth


def _above(step: Step, cards: dict[int, Card]) -> float:
    """The middle of what a step takes values from."""
    xs = [cards[a].x for a in step.feeds_from if a in cards]
    return sum(xs) / len(xs) if xs else 0.0


def _columns(part: list[Step], cards: dict[int, Card]) -> list[float]:
    """A column for each card of a row: near what feeds it, from left to right, none twice."""
    if len(part) == COLUMNS:
        return [float(k) for k in range(COLUMNS)]
    out: list[float] = []
    for k, s in enumerate(part):
        wish = (_above(s, cards) - MARGIN) / (WIDTH + GAP_X) if s.feeds_from else 0
        low = out[-1] + 1 if out else 0
        high = COLUMNS - (len(part) - k)
        out.append(min(max(round(wish), low), high))
    return out


def _edge(a: Card, b: Card) -> str:
    x1, y1, x2, y2 = a.x + WIDTH / 2, a.y + HEIGHT, b.x + WIDTH / 2, b.y
    bend = max(18.0, (y2 - y1) / 2) if y2 - y1 < 200 else 90.0
    far = " far" if y2 - y1 > HEIGHT + 2 * GAP_Y else ""
    return (f'<path class="edge{far}" data-a={a.step.number} data-b={b.step.number} '
            f'd="M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"/>')


def _card(card: Card, unit: Unit, prefix: str, hue: dict[str, int]) -> str:
    step = card.step
    label = unit.key.upper()
    title = f"step {step.number}: {label} {unit.symbol or unit.title}\n{', '.join(step.nodes)}"
    style = f' style="--h:{hue[unit.key]}"' if unit.key in hue else ""
    return (f'<g class="card {unit.kind}" data-u="{prefix}{unit.key}" data-step={step.number} tabindex=0{style} '
            f'transform="translate({card.x:g} {card.y:g})"><title>{escape(title)}</title>'
            f'<rect width={WIDTH} height={HEIGHT} rx=7 /><rect class=spine width=5 height={HEIGHT} rx=2.5 />'
            f'<text class=key x=16 y=20>{label}</text>'
            f'<text class=what x={WIDTH - 10} y=20 text-anchor=end>{escape(_cut(_what(step, unit), 25))}</text>'
            f'<text class=ops x=16 y=38>{escape(_cut(_below(step, unit), 25))}</text></g>')


def _what(step: Step, unit: Unit) -> str:
    count = len(step.nodes)
    if unit.kind == "kernel":
        return unit.origin.partition(",")[0] or f"{count} op{'s' if count != 1 else ''}"
    return {"product": "product", "numpy": "NumPy", "copy": "copy"}.get(unit.kind, f"{count} ops")


def _below(step: Step, unit: Unit) -> str:
    if unit.kind == "product":
        return unit.title.removeprefix("matrix product ")
    return unit.title if unit.kind in ("kernel", "line") else ", ".join(step.nodes) or unit.title


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
