"""The page of an Explanation: one HTML file that needs nothing else, kernels beside the user's lines.

    Path("report.html").write_text(page(step.explain()), encoding="utf-8")
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..ir.text import print_graph, print_node
from .engine import Report
from .report.code import coloured, coloured_lines
from .report.drawing import MOST, drawing
from .report.model import Block, Unit, View, view_of
from .report.style import SCRIPT, STYLE
from .report.text import size_text, time_text

if TYPE_CHECKING:
    from .explain import Explanation

CHIPS = 6  # units named beside one line; the rest are counted


def page(explanation: Explanation) -> str:
    """Returns a whole HTML document; it loads nothing from outside."""
    views = [(r, view_of(r)) for r in explanation.reports]
    graphs = [_graph(n, r, v) for n, (r, v) in enumerate(views)]
    title = escape(explanation.name)
    return (f'<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport '
            f'content="width=device-width,initial-scale=1"><title>{title}: what was compiled</title>'
            f"<style>{STYLE}</style></head><body><main>{_head(explanation)}{''.join(graphs)}"
            f"<footer>Written by explain(). Nothing on this page is loaded from elsewhere.</footer>"
            f"</main><script>{SCRIPT}</script></body></html>\n")


def frame(explanation: Explanation) -> str:
    """Returns the page as a frame for a notebook, whose own looks it leaves alone."""
    return (f'<iframe srcdoc="{escape(page(explanation))}" '
            'style="width:100%;height:720px;border:1px solid #8884;border-radius:8px"></iframe>')


# the head -----------------------------------------------------------------------------------------
_COUNTS = {
    "graphs": "graphs ready to replay", "lazy": "signatures run lazily", "recordings": "calls recorded",
    "replays": "calls replayed", "kernels": "distinct kernels", "built": "compiled now",
    "reused": "taken from the cache", "fallbacks": "graphs left to NumPy",
}


def _head(explanation: Explanation) -> str:
    counts = explanation.counts
    tiles = [_tile(f"{counts[name]:,}", text) for name, text in _COUNTS.items()
             if name in counts and (counts[name] or name in ("graphs", "recordings", "replays"))]
    links = [f'<a href="#g{n}">{n + 1}: {escape(r.graph.name)}</a>' for n, r in enumerate(explanation.reports)]
    nav = f"<nav>{''.join(links)}</nav>" if len(links) > 1 else ""
    return (f"<header><h1>{escape(explanation.name)}</h1>"
            f'<p class=soft>What treadle.compile made of this function, and why.</p>'
            f'<div class=tiles>{"".join(tiles)}</div>{nav}{_signatures(explanation)}</header>')


def _signatures(explanation: Explanation) -> str:
    """Per kind of call: how it runs, its guards, why it is lazy; and what happened, in order."""
    out = []
    for s in explanation.signatures:
        if s.lazy:
            items = "".join(f"<li>{escape(reason)}</li>" for reason in s.lazy)
            out.append(f"<details class=more open><summary>Signature {s.number}: lazy, its Python runs at "
                       f"each call, because</summary><ul>{items}</ul></details>")
        for replayed, guards in s.entries:
            items = "".join(f"<li class=mono>{escape(text)}</li>" for text in guards)
            out.append(f"<details class=more><summary>Signature {s.number}: one graph, replayed {replayed:,} "
                       f"times while {len(guards)} guards hold</summary><ul>{items}</ul></details>")
    if explanation.events:
        items = "".join(f"<li>{escape(event)}</li>" for event in explanation.events)
        out.append(f"<details class=more><summary>Recordings: {len(explanation.events)}</summary>"
                   f"<ul>{items}</ul></details>")
    return "".join(out)


def _tile(value: str, text: str) -> str:
    return f"<div class=tile><b>{value}</b><span>{text}</span></div>"


# one graph ----------------------------------------------------------------------------------------
def _graph(number: int, report: Report, view: View) -> str:
    prefix = f"g{number}"
    hue = _hues(view.units)
    return (f"<section class=graph id={prefix}><h2>{number + 1}: {escape(report.graph.name)} "
            f"<small>{_count(len(report.graph.placeholders), 'input')}, "
            f"{_count(len(report.graph.outputs), 'output')}</small></h2>"
            f"{_fallback(report)}<div class=tiles>{_tiles(report, view)}</div>{_weave(view, prefix, hue)}"
            f"<div class=split>{_source(view, prefix, hue)}{_unit_pane(view, prefix, hue)}</div>"
            f"{_flow(view, prefix, hue)}{_step_table(view, prefix, report)}"
            f"<details class=more><summary>The graph as text</summary>"
            f"<pre>{escape(print_graph(view.graph))}</pre></details></section>")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _hues(units: tuple[Unit, ...]) -> dict[str, int]:
    """A hue for each kernel, neighbours far apart."""
    kernels = [u for u in units if u.kind == "kernel"]
    return {u.key: round(190 + 137.508 * k) % 360 for k, u in enumerate(kernels)}


def _fallback(report: Report) -> str:
    return f"<p class=warn>Runs in NumPy: {escape(report.fallback)}</p>" if report.fallback else ""


def _tiles(report: Report, view: View) -> str:
    ops = sum(n.opcode == "call_function" for n in view.graph.nodes)
    recorded = sum(n.opcode == "call_function" for n in report.graph.nodes)
    tiles = [_tile(f"{recorded:,}", "ops recorded")]
    if report.program:
        tiles.append(_tile(f"{ops:,}", "after inlining"))
    program = report.program
    if program is not None:
        moved = sum(u.read + u.written for u in view.units)
        tiles += [_tile(f"{len(program.kernels):,}", "distinct kernels"),
                  _tile(f"{len(program.steps):,}", "steps a call"),
                  _tile(size_text(moved), "moved by kernels a call"),
                  _tile(size_text(program.arena), "scratch memory")]
    tiles += [_tile(time_text(seconds), _TIMES.get(name, name)) for name, seconds in report.seconds.items()]
    return "".join(tiles)


_TIMES = {"passes": "passes", "codegen": "code generation", "build": "build", "recall": "plan from the cache"}


def _weave(view: View, prefix: str, hue: dict[str, int]) -> str:
    """A strip: each kernel's share of the bytes moved."""
    moving = [u for u in view.units if u.read + u.written and u.key in hue]
    if len(moving) < 2:
        return ""
    parts = [f'<i data-u="{prefix}{u.key}" style="--h:{hue[u.key]};flex:{u.read + u.written}" '
             f'title="{u.key.upper()}: {size_text(u.read + u.written)} moved"></i>' for u in moving]
    return f'<div class=weave>{"".join(parts)}</div><small>Bytes moved, by kernel</small>'


# source -------------------------------------------------------------------------------------------
def _source(view: View, prefix: str, hue: dict[str, int]) -> str:
    by_place: dict[tuple[str, int], list[Unit]] = {}
    for unit in view.units:
        for place in unit.places:
            by_place.setdefault(place, []).append(unit)
    blocks = [_block(b, view, prefix, by_place, hue) for b in view.blocks]
    empty = "" if blocks else "<p class=about>No source line is known for this graph.</p>"
    return f'<div class="pane source"><div class=scroll>{"".join(blocks)}{empty}</div></div>'


def _block(block: Block, view: View, prefix: str, by_place, hue: dict[str, int]) -> str:
    title = block.function if block.function.startswith("<") else f"{block.function}()"
    rows = [f'<h4><span>{escape(title)}</span><span class=mono>{escape(Path(block.file).name)}:{block.first}'
            "</span></h4>"]
    indent = min((len(t) - len(t.lstrip()) for t in block.lines if t.strip()), default=0)
    shown = coloured_lines([t[indent:] for t in block.lines], "python")
    for number, text in enumerate(shown, block.first):
        place = (block.file, number)
        nodes, units = view.at.get(place, []), by_place.get(place, [])
        chips = "".join(_chip(u, prefix, hue) for u in units[:CHIPS])
        if len(units) > CHIPS:
            chips += f"<small>+{len(units) - CHIPS}</small>"
        row = (f"<div class=row><span class=no>{number}</span><code>{text or ' '}</code>"
               f"<span class=chips>{chips}</span></div>")
        rows.append(_line(row, place, nodes, units, prefix) if nodes else row)
    return "".join(rows)


def _line(row: str, place: tuple[str, int], nodes, units: list[Unit], prefix: str) -> str:
    keys = " ".join(prefix + u.key for u in units)
    text = escape("\n".join(map(print_node, nodes)), quote=False)
    return (f'<details class=line data-u="{keys}" data-number={place[1]} data-line="{_place_key(place)}">'
            f"<summary>{row}</summary><pre>{text}</pre></details>")


def _place_key(place: tuple[str, int]) -> str:
    return escape(f"{place[0]}:{place[1]}")


def _chip(unit: Unit, prefix: str, hue: dict[str, int]) -> str:
    style = f' style="--h:{hue[unit.key]}"' if unit.key in hue else ""
    return (f'<button class="chip {unit.kind}"{style} data-u="{prefix}{unit.key}" '
            f'title="{escape(unit.title)}">{unit.key.upper()}</button>')


# units --------------------------------------------------------------------------------------------
def _unit_pane(view: View, prefix: str, hue: dict[str, int]) -> str:
    first = max(view.units, key=lambda u: (u.kind == "kernel", u.read + u.written), default=None)
    cards = [_unit(u, prefix, hue, u is first) for u in view.units]
    kernels = sum(u.kind == "kernel" for u in view.units)
    title = _count(kernels, "kernel") if kernels else "What runs"
    return (f"<div class=pane><h4><span>{title}</span><span class=picked hidden><span></span>"
            f"<button class=all>show all</button></span></h4>"
            f"<div class=scroll>{''.join(cards)}</div></div>")


def _unit(unit: Unit, prefix: str, hue: dict[str, int], is_open: bool) -> str:
    style = f' style="--h:{hue[unit.key]}"' if unit.key in hue else ""
    times = f" × {len(unit.steps)}" if len(unit.steps) > 1 else ""
    moved = f"{size_text(unit.read)} in, {size_text(unit.written)} out" if unit.read + unit.written else ""
    return (f'<details class=unit data-u="{prefix}{unit.key}"{style}{" open" if is_open else ""}>'
            f"<summary>{_chip(unit, prefix, hue)}<span class=name>{_name(unit)}{times}</span>"
            f"<span class=soft>{moved}</span></summary>{_about(unit)}"
            f"{f'<pre>{coloured(unit.code, unit.language)}</pre>' if unit.code else ''}</details>")


def _name(unit: Unit) -> str:
    origin = f"<b>{escape(unit.origin)}</b> " if unit.origin else ""
    return f"{origin}<span class=mono>{escape(unit.title)}</span>"


def _about(unit: Unit) -> str:
    rows = []
    if unit.detail:
        rows.append(escape(unit.detail))
    if unit.symbol:
        rows.append(f"<b>symbol</b> <span class=mono>{escape(unit.symbol)}</span>")
    if unit.nodes:
        rows.append(f"<b>computes</b> <span class=mono>{escape(_listed(unit.nodes, 24))}</span>")
    if unit.places:
        links = "".join(f'<button data-to="{_place_key(p)}">{escape(Path(p[0]).name)}:{p[1]}</button>'
                        for p in unit.places[:12])
        rows.append(f"<b>from</b> {links}")
    if unit.reasons:
        rows.append(f"<b>ends because</b> {escape('; '.join(unit.reasons))}")
    return f"<div class=about>{''.join(f'<div>{r}</div>' for r in rows)}</div>"


def _listed(names: list[str], most: int) -> str:
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# flow and steps -----------------------------------------------------------------------------------
def _flow(view: View, prefix: str, hue: dict[str, int]) -> str:
    svg = drawing(view, prefix, hue)
    if not svg:
        return ""
    cut = f" (the first {MOST} of {len(view.steps)})" if len(view.steps) > MOST else ""
    return (f"<h3>Data flow <small>one card a step{cut}; equal colours are the same kernel; hover for what feeds "
            f"a step and what it feeds</small></h3><div class=pane><div class=flowbox>{svg}</div></div>")


def _step_table(view: View, prefix: str, report: Report) -> str:
    if report.program is None:
        return ""
    units = {u.key: u for u in view.units}
    fusions = {f.step: f for f in report.program.fusions}
    cells: Callable[..., str] = lambda f: (
        f"<td class=num>{size_text(f.read)}</td><td class=num>{size_text(f.written)}</td><td>{escape(f.reason)}</td>"
        if f else "<td></td><td></td><td></td>")
    rows = [f'<tr data-u="{prefix}{s.unit}"><td class=num>{s.number}</td><td>{s.unit.upper()}</td>'
            f"<td class=mono>{escape(_listed(list(s.nodes), 8) or units[s.unit].title)}</td>"
            f"{cells(fusions.get(s.number))}</tr>" for s in view.steps]
    return (f"<details class=more><summary>Every step, in order: {len(rows)}</summary><div class=scroll><table>"
            "<tr><th class=num>step</th><th>unit</th><th>nodes</th><th class=num>reads</th><th class=num>writes"
            f"</th><th>ends because</th></tr>{''.join(rows)}</table></div></details>")
