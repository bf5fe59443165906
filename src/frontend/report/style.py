"""How the page looks and answers to the pointer: one style sheet and one script, both inline."""

STYLE = """
:root{color-scheme:light dark;--paper:#fbfbf9;--card:#fff;--ink:#1d2126;--soft:#5b636d;--line:#e2e2dc;--wash:#f2f2ed;
--accent:#0b6e75;--L:.60;--C:.13;--tint:.13;--text-L:.42;--warn:#9a4a00;--warn-wash:#fff3e0;
--k:#8250a8;--t:#0b6e75;--n:#b3530a;--s:#3c7a2a;--c:#6b7580;--f:#22569e}
@media(prefers-color-scheme:dark){:root{--paper:#14171a;--card:#1b1f24;--ink:#e4e7ea;--soft:#9aa4af;--line:#2d333a;
--wash:#20252b;--accent:#5cc4c9;--L:.70;--C:.12;--tint:.20;--text-L:.82;--warn:#f0b070;--warn-wash:#332613;
--k:#c9a0ea;--t:#6fcfd2;--n:#eda56b;--s:#98cf86;--c:#8b96a1;--f:#8db8f2}}
*{box-sizing:border-box}
html{scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1440px;margin:0 auto;padding:28px 28px 60px}
code,pre,.mono,svg{font-family:ui-monospace,"SF Mono","Cascadia Code",Menlo,Consolas,"DejaVu Sans Mono",monospace}
h1{font-size:27px;line-height:1.2;margin:0 0 2px;letter-spacing:-.01em}
h2{font-size:20px;margin:0;letter-spacing:-.01em}
h3{font-size:15px;margin:30px 0 10px}
p{margin:4px 0;max-width:80ch}
a{color:var(--accent)}
.soft,small{color:var(--soft);font-weight:400}
small{font-size:13px}
header{border-bottom:1px solid var(--line);padding-bottom:18px}
nav{display:flex;gap:8px;flex-wrap:wrap;margin-top:14px}
nav a{padding:3px 11px;border:1px solid var(--line);border-radius:99px;text-decoration:none;font-size:13px;
background:var(--card)}
nav a:hover{border-color:var(--accent)}
section.graph{margin-top:34px}
.tiles{display:flex;flex-wrap:wrap;gap:10px;margin:14px 0 4px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:9px;padding:8px 14px;min-width:104px}
.tile b{display:block;font-size:20px;line-height:1.25;font-variant-numeric:tabular-nums;letter-spacing:-.01em}
.tile span{font-size:12.5px;color:var(--soft)}
.warn{background:var(--warn-wash);color:var(--warn);border-radius:9px;padding:9px 14px;margin:12px 0;max-width:none}
.weave{display:flex;height:16px;border-radius:5px;overflow:hidden;margin:14px 0 4px;gap:1px;background:var(--line)}
.weave i{background:oklch(var(--L) var(--C) var(--h,0));min-width:3px;cursor:pointer}
.split{margin-top:16px;display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:16px;align-items:start}
.pane{background:var(--card);border:1px solid var(--line);border-radius:10px;overflow:hidden}
.pane h4{margin:0;position:sticky;top:0;z-index:1;padding:8px 14px;font-size:13px;font-weight:600;background:var(--wash);
border-bottom:1px solid var(--line);display:flex;gap:8px;justify-content:space-between;align-items:baseline;min-height:37px}
.pane h4 .mono{font-weight:400;font-size:12px;color:var(--soft);overflow-wrap:anywhere}
.scroll{max-height:74vh;overflow:auto}
.pane.source{position:sticky;top:12px}
.pane.source h4:not(:first-child){border-top:1px solid var(--line)}
.row{display:grid;grid-template-columns:46px minmax(0,1fr) auto;align-items:baseline;padding-right:8px;
border-left:3px solid transparent;font-size:13px;line-height:1.6}
.row .no{color:var(--c);text-align:right;padding-right:12px;user-select:none;font-variant-numeric:tabular-nums}
.row code{white-space:pre-wrap;overflow-wrap:anywhere;tab-size:4;padding-left:var(--in,0);text-indent:calc(-1*var(--in,0px))}
details.line>summary{list-style:none;cursor:pointer}
details.line>summary::-webkit-details-marker{display:none}
details.line>summary .row{border-left-color:color-mix(in oklab,var(--accent) 45%,transparent)}
details.line>summary:hover .row,.hot>summary .row{background:color-mix(in oklab,var(--accent) 10%,transparent)}
details.line[open]>summary .row{background:color-mix(in oklab,var(--accent) 14%,transparent)}
details.line>pre{margin:0;padding:8px 12px 8px 49px;font-size:12px;line-height:1.55;max-height:260px;overflow:auto;
background:var(--wash);border-block:1px solid var(--line);white-space:pre-wrap;overflow-wrap:anywhere}
.chips{display:flex;gap:3px;flex-wrap:wrap;justify-content:flex-end;max-width:180px;padding-left:8px}
.chip{font:600 11px/1 ui-monospace,Menlo,Consolas,monospace;border:0;border-radius:4px;padding:3px 5px;cursor:pointer;
color:oklch(var(--text-L) calc(var(--C)*.9) var(--h,0));background:oklch(var(--L) var(--C) var(--h,0)/var(--tint))}
.chip.product,.chip.copy,.chip.line{color:var(--soft);background:var(--wash);box-shadow:inset 0 0 0 1px var(--line)}
.chip.numpy{color:var(--warn);background:var(--warn-wash)}
.chip:hover,.chip:focus-visible,.hot>summary>.chip{outline:2px solid currentColor;outline-offset:0}
details.unit{border-top:1px solid var(--line)}
details.unit:first-child{border-top:0}
details.unit>summary{cursor:pointer;padding:8px 14px;display:flex;gap:9px;align-items:baseline;list-style:none;font-size:13px}
details.unit>summary::-webkit-details-marker{display:none}
details.unit>summary .name{overflow-wrap:anywhere;min-width:0;flex:1}details.unit:not([open]) .name{display:-webkit-box;-webkit-line-clamp:2;-webkit-box-orient:vertical;overflow:hidden}
.name b{font-weight:600}
details.unit>summary .soft{font-size:12px;text-align:right;white-space:nowrap}
details.unit>summary:hover,.hot.unit>summary{background:var(--wash)}
details.unit[open]>summary{background:oklch(var(--L) var(--C) var(--h,0)/calc(var(--tint)*.6))}
.about>div{margin:2px 0}.about{padding:6px 14px 8px;font-size:13px;color:var(--soft)}
.about b{color:var(--ink);font-weight:600}
.about button{font:12px ui-monospace,Menlo,Consolas,monospace;border:0;background:none;color:var(--accent);cursor:pointer;
padding:0 3px;text-decoration:underline;text-underline-offset:2px}
.unit pre{margin:0;padding:10px 14px 14px;overflow:auto;max-height:520px;font-size:12.3px;line-height:1.55;
border-top:1px solid var(--line);tab-size:4}
pre b,code b{font-weight:400}b.k{color:var(--k)}b.t{color:var(--t)}b.n{color:var(--n)}b.s{color:var(--s)}
b.c{color:var(--c)}b.f{color:var(--f)}b.p{color:var(--k)}
.picked{font-weight:400;font-size:12.5px}
.picked button{font:inherit;border:1px solid var(--line);border-radius:99px;background:var(--card);color:var(--accent);
cursor:pointer;padding:0 9px;margin-left:6px}
.flowbox{overflow:auto;max-height:80vh;padding:4px;text-align:center}
svg.flow{max-width:none;display:block;margin:0 auto}
.edge{fill:none;stroke:var(--soft);stroke-width:1.3;opacity:.55}
.edge.far{opacity:.16}
.edge.hot{stroke:var(--accent);opacity:1;stroke-width:2}
.card{cursor:pointer;outline:none}
.card rect{fill:var(--card);stroke:var(--line)}
.card.kernel>rect:first-of-type{fill:color-mix(in oklab,var(--card) 86%,oklch(var(--L) var(--C) var(--h,0)));
stroke:oklch(var(--L) var(--C) var(--h,0)/.55)}
.card .spine{stroke:none;fill:var(--soft)}
.card.kernel .spine{fill:oklch(var(--L) var(--C) var(--h,0))}
.card.numpy>rect:first-of-type{fill:var(--warn-wash);stroke:var(--warn);stroke-dasharray:4 3}
.card.numpy .spine{fill:var(--warn)}
.card.copy>rect:first-of-type{stroke-dasharray:2 3}
.card text{fill:var(--ink);font-size:11.5px}
.card .key{font-weight:700;font-size:12px}
.card .what{fill:var(--soft);font-family:system-ui,sans-serif;font-size:11px}
.card .ops{fill:var(--soft)}
.card.hot>rect:first-of-type,.card:focus-visible>rect:first-of-type{stroke:var(--ink);stroke-width:2}
.dim{opacity:.28}
table{border-collapse:collapse;font-size:13px;width:100%}
th{text-align:left;font-weight:600;color:var(--soft);background:var(--wash);position:sticky;top:0}
td,th{padding:4px 12px;border-bottom:1px solid var(--line);vertical-align:top}
td.num,th.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
tr[data-u]{cursor:pointer}tr.hot td{background:var(--wash)}
details.more{margin-top:12px;background:var(--card);border:1px solid var(--line);border-radius:10px;overflow:hidden}
details.more>summary{cursor:pointer;padding:9px 14px;font-size:14px;font-weight:600}
details.more>pre,details.more>.scroll,details.more>div{border-top:1px solid var(--line)}
details.more>pre{margin:0;padding:12px 14px;overflow:auto;max-height:70vh;font-size:12.3px;line-height:1.5}
details.more ul{max-height:60vh;overflow:auto;margin:0;padding:10px 14px 12px 32px;font-size:13.5px}
details.more li{margin:2px 0;overflow-wrap:anywhere}
footer{margin-top:44px;color:var(--soft);font-size:13px}
[hidden]{display:none!important}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
@media(max-width:900px){main{padding:18px 14px 40px}.split{grid-template-columns:minmax(0,1fr)}.scroll{max-height:none}.pane.source{position:static}
.row{grid-template-columns:36px minmax(0,1fr)}.row .chips{grid-column:2;justify-content:flex-start;padding:0 0 4px;max-width:none}
.row .no{padding-right:8px}.flowbox{text-align:left}td,th{padding:4px 8px}
details.unit>summary{flex-wrap:wrap}.pane h4{flex-wrap:wrap}}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@media print{.scroll,.flowbox{max-height:none}}
"""

SCRIPT = """
for (const graph of document.querySelectorAll('section.graph')) {
  const all = s => [...graph.querySelectorAll(s)];
  const units = all('details.unit'), lines = all('details.line'), cards = all('g.card');
  const edges = all('path.edge'), rows = all('tr[data-u]'), bar = graph.querySelector('.picked');
  const has = (e, wanted) => (e.dataset.u || '').split(' ').some(u => wanted.includes(u));

  function light(wanted, step) {
    for (const e of [...units, ...lines, ...cards, ...rows])
      e.classList.toggle('hot', wanted.length > 0 && has(e, wanted));
    if (step !== undefined)
      for (const c of cards) c.classList.toggle('hot', c.dataset.step === step);
    const lit = new Set(cards.filter(c => c.classList.contains('hot')).map(c => c.dataset.step));
    for (const e of edges)
      e.classList.toggle('hot', lit.has(e.dataset.a) || lit.has(e.dataset.b));
  }
  function pick(wanted, text) {
    const on = wanted.length > 0;
    for (const u of units) {
      u.hidden = on && !has(u, wanted);
      if (on) u.open = has(u, wanted) && wanted.length <= 4;
    }
    for (const e of [...lines, ...cards]) e.classList.toggle('dim', on && !has(e, wanted));
    if (!bar) return;
    bar.hidden = !on;
    bar.firstElementChild.textContent = text || '';
  }
  graph.addEventListener('mouseover', event => {
    const e = event.target.closest('[data-u]');
    if (e) light(e.dataset.u.split(' '), e.dataset.step);
    else light([]);
  });
  graph.addEventListener('mouseleave', () => light([]));
  graph.addEventListener('focusin', event => {
    const e = event.target.closest('[data-u]');
    if (e) light(e.dataset.u.split(' '), e.dataset.step);
  });
  function choose(target) {
    const chip = target.closest('.chip, g.card, tr[data-u], .weave i');
    if (!chip || target.closest('details.unit')) return false;
    const u = chip.dataset.u;
    pick([u], chip.dataset.label || u.replace(/^g\\d+/, '').toUpperCase());
    return true;
  }
  graph.addEventListener('click', event => {
    if (event.target.closest('.all')) return pick([]);
    const to = event.target.closest('[data-to]');
    if (to) {
      const line = graph.querySelector(`[data-line="${CSS.escape(to.dataset.to)}"]`);
      if (line) { line.open = true; line.scrollIntoView({block: 'center'}); }
      return;
    }
    if (choose(event.target)) return event.preventDefault();
    const line = event.target.closest('details.line > summary');
    if (line) {
      const e = line.parentElement;
      pick(e.open ? [] : (e.dataset.u || '').split(' ').filter(Boolean), 'line ' + e.dataset.number);
    }
  });
  graph.addEventListener('keydown', event => {
    if (event.key === 'Escape') pick([]);
    if ((event.key === 'Enter' || event.key === ' ') && event.target.matches('g.card')) {
      event.preventDefault();
      choose(event.target);
    }
  });
}
"""
