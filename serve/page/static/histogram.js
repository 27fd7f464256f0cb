// Counts over time as stacked bars, with a brush: drag, or arrow keys with Shift and Enter.

import { html, useEffect, useRef, useState } from './vendor/htm-preact.js';
import { LegendButton, linePath, Tip, useCursor } from './chart.js';
import { count, short } from './format.js';
import { timeTicks, valueScale } from './scale.js';
import { formatTick, formatTime } from './time.js';
import { useWidth } from './ui.js';

const height = 96;
const axis = 18;

/**
 * Histogram draws counts, as lines if they are not stacked; onRange gets the times that the brush chose. ghost are counts of a time before, by the
 * bars of this one: {points, name}. Histograms of one cursor show where the pointer is in another.
 */
export function Histogram({ id = 'histogram', range, series, zone, onRange, label, loading, stacked, log, ghost, cursor }) {
  const box = useRef();
  const svg = useRef();
  const width = useWidth(box, 800);
  const [brush, setBrush] = useState(null); // {from, to}: bars
  const [over, setOwn] = useState(-1);
  const [elsewhere, report] = useCursor(cursor, id);
  const [left, right] = cursor ? [76, 12] : [44, 6]; // beside a chart, times are where that has them
  const { from, to, step } = range;
  const setOver = (bar) => {
    setOwn(bar);
    report(bar < 0 ? null : (first + bar + 0.5) * step);
  };
  const first = Math.floor(from / step);
  const bars = Math.max(1, Math.ceil(to / step) - first);
  useEffect(() => {
    setBrush(null);
    setOver(-1);
  }, [from, to]);
  const inner = Math.max(1, width - left - right);
  const each = inner / bars;
  const x = (bar) => left + bar * each;
  const at = (bar) => (first + bar) * step;
  const sums = Array.from({ length: bars }, (_, bar) => series.reduce((sum, one) => sum + (one.points.get(at(bar)) || 0), 0));
  const before = ghost ? [...ghost.points.values()].reduce((most, n) => Math.max(most, n), 0) : 0;
  const max = Math.max(before, stacked ? Math.max(1, ...sums) : series.reduce((most, one) => Math.max(most, ...one.points.values()), 1));
  const scale = valueScale({ max, least: 0.5, log, ticks: 2, whole: true });
  const y = (n) => height - scale.at(n) * (height - 8);
  const barAt = (e) => {
    const rect = svg.current.getBoundingClientRect();
    return Math.max(0, Math.min(bars - 1, Math.floor((e.clientX - rect.left - left) / each)));
  };
  const choose = ({ from: a, to: b }) => {
    setBrush(null);
    onRange(at(Math.min(a, b)), at(Math.max(a, b) + 1));
  };
  const onPointerDown = (e) => {
    if (e.button !== 0) return;
    svg.current.setPointerCapture(e.pointerId);
    setBrush({ from: barAt(e), to: barAt(e), dragging: true });
  };
  const onPointerMove = (e) => {
    setOver(barAt(e));
    if (brush?.dragging) setBrush({ ...brush, to: barAt(e) });
  };
  const onPointerUp = (e) => {
    if (brush?.dragging) choose({ from: brush.from, to: barAt(e) });
  };
  const onKeyDown = (e) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, Home: -bars, End: bars }[e.key];
    if (move) {
      const start = over < 0 ? (move > 0 ? -1 : bars) : over;
      const next = Math.max(0, Math.min(bars - 1, start + move));
      setBrush(e.shiftKey ? { from: brush ? brush.from : Math.max(0, over), to: next } : null);
      setOver(next);
    } else if (e.key === 'Enter' && (brush || over >= 0)) choose(brush || { from: over, to: over });
    else if (e.key === 'Escape' && brush) setBrush(null);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const selection = brush && [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to) + 1];
  const { apart, all } = timeTicks(range, zone, inner);
  const middle = (t) => left + ((t / step - first + 0.5) / bars) * inner;
  const here = over < 0 ? [] : series.map((one) => ({ ...one, n: one.points.get(at(over)) || 0 })).filter((one) => one.n).reverse();
  const active = over >= 0 && over < bars;
  const there = elsewhere === null || elsewhere < from || elsewhere > to ? null : left + ((elsewhere / step - first) / bars) * inner;
  return html`<div class=${`histogram ${loading ? 'loading' : ''}`} ref=${box}>
    <svg
      ref=${svg} width=${width} height=${height + axis} role="application" tabindex="0" id=${id} aria-roledescription="histogram"
      aria-label=${`${label}. Arrow keys move, Shift and arrow keys select, Enter zooms in.`} aria-describedby=${`${id}-value`}
      onPointerDown=${onPointerDown} onPointerMove=${onPointerMove} onPointerUp=${onPointerUp} onKeyDown=${onKeyDown}
      onPointerCancel=${() => setBrush(null)} onPointerLeave=${() => !brush && setOver(-1)} onBlur=${() => setOver(-1)}>
      ${scale.ticks.filter((v) => v >= 1).map(
        (v) => html`<line class="grid" x1=${left} x2=${width - right} y1=${y(v)} y2=${y(v)} />
          <text class="axis" x=${left - 6} y=${y(v) + 4} text-anchor="end">${short(v)}</text>`,
      )}
      <line class="base" x1=${left} x2=${width - right} y1=${height + 0.5} y2=${height + 0.5} />
      ${active && html`<rect class="over" x=${x(over)} y="0" width=${each} height=${height} />`}
      ${series.map((one, i) =>
        stacked
          ? html`<path class=${one.colour} d=${outline(series, i, bars, at, x, y, each)} />`
          : html`<path class=${`line ${one.colour}`} d=${linePath([...one.points].sort((a, b) => a[0] - b[0]), middle, y, step)} />`,
      )}
      ${ghost && html`<path class="ghost" d=${steps(ghost.points, bars, at, x, y, each)} />`}
      ${there !== null && html`<line class="cursor" x1=${there} x2=${there} y1="0" y2=${height} />`}
      ${selection && html`<rect class="brush" x=${x(selection[0])} y="0" width=${x(selection[1]) - x(selection[0])} height=${height} />`}
      ${all.map((t) => {
        const px = left + ((t / step - first) / bars) * inner;
        return px > left + 8 && px < width - 20 && html`<text class="axis" x=${px} y=${height + 14} text-anchor="middle">${formatTick(t, zone, apart)}</text>`;
      })}
    </svg>
    <div class="sr" id=${`${id}-value`} aria-live="polite">${active && document.activeElement === svg.current ? sentence(at(over), step, zone, sums[over]) : ''}</div>
    ${active && html`<${Tip} time=${at(over)} ...${{ step, zone, width }} total=${sums[over]} series=${here} before=${ghost && { name: ghost.name, n: ghost.points.get(at(over)) || 0 }} x=${x(over + 0.5)} format=${count} />`}
  </div>`;
}

const sentence = (t, step, zone, n) => `${formatTime(t, zone)}: ${count(n)} records`;

/** outline is the path of the parts of one series in all bars: one element instead of hundreds. */
function outline(series, i, bars, at, x, y, each) {
  const gap = each > 4 ? 1 : 0;
  let path = '';
  for (let bar = 0; bar < bars; bar++) {
    const n = series[i].points.get(at(bar));
    if (!n) continue;
    let below = 0;
    for (let j = 0; j < i; j++) below += series[j].points.get(at(bar)) || 0;
    const bottom = y(below);
    const topEdge = Math.min(y(below + n), bottom - 0.75);
    path += `M${x(bar).toFixed(2)} ${bottom.toFixed(2)}h${(each - gap).toFixed(2)}V${topEdge.toFixed(2)}h-${(each - gap).toFixed(2)}z`;
  }
  return path;
}

/** steps is the upper edge of bars, as one line. */
function steps(points, bars, at, x, y, each) {
  let path = '';
  for (let bar = 0; bar < bars; bar++) path += `${bar ? 'L' : 'M'}${x(bar).toFixed(2)} ${y(points.get(at(bar)) || 0).toFixed(2)}h${each.toFixed(2)}`;
  return path;
}

/** Legend names the colours. */
export function Legend({ series, isShown, onLegend }) {
  return html`<ul class="legend" aria-label="Legend">
    ${series.map((one) => {
      const n = [...one.points.values()].reduce((sum, v) => sum + v, 0);
      return html`<li key=${one.name}><${LegendButton} name=${one.name} colour=${one.colour} shown=${isShown(one.name)} onLegend=${onLegend}>${' '}<span class="count">${short(n)}</span><//></li>`;
    })}
  </ul>`;
}
