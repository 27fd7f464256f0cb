// Counts over time as stacked bars, with a brush: drag, or arrow keys with Shift and Enter.

import { html, useEffect, useRef, useState } from './vendor/htm-preact.js';
import { useWidth } from './ui.js';
import { count, short } from './format.js';
import { coloured, sortSeries } from './levels.js';
import { printable } from './text.js';
import { formatClock, formatTick, formatTime, offset } from './time.js';

const height = 96;
const axis = 18;
const left = 44;

const niceMax = (n) => {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return [1, 2, 2.5, 5, 10].map((f) => f * size).find((m) => m >= n && (m >= 10 || Number.isInteger(m))) || 10 * size;
};

const tickSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1e3);

function ticks(range, zone, width) {
  const room = Math.max(2, Math.floor(width / 72));
  const apart = tickSteps.find((s) => (range.to - range.from) / s <= room) || (range.to - range.from) / room;
  const shift = offset(range.from, zone);
  const all = [];
  for (let t = Math.ceil((range.from + shift) / apart) * apart - shift; t < range.to; t += apart) all.push(t);
  return { apart, all };
}

/** Histogram draws counts; onRange gets the times that the brush chose. */
export function Histogram({ range, by, series, zone, onRange, label, loading }) {
  const box = useRef();
  const svg = useRef();
  const width = useWidth(box, 800);
  const [brush, setBrush] = useState(null); // {from, to}: bars
  const [over, setOver] = useState(-1);
  const { from, to, step } = range;
  const first = Math.floor(from / step);
  const bars = Math.max(1, Math.ceil(to / step) - first);
  useEffect(() => {
    setBrush(null);
    setOver(-1);
  }, [from, to]);
  const sorted = coloured(by, sortSeries(by, series));
  const inner = Math.max(1, width - left - 6);
  const each = inner / bars;
  const x = (bar) => left + bar * each;
  const at = (bar) => (first + bar) * step;
  const sums = Array.from({ length: bars }, (_, bar) => sorted.reduce((sum, one) => sum + (one.points.get(at(bar)) || 0), 0));
  const max = niceMax(Math.max(1, ...sums));
  const y = (n) => height - (n / max) * (height - 8);
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
  const { apart, all } = ticks(range, zone, inner);
  const active = over >= 0 && over < bars;
  return html`<div class=${`histogram ${loading ? 'loading' : ''}`} ref=${box}>
    <svg
      ref=${svg} width=${width} height=${height + axis} role="application" tabindex="0" id="histogram" aria-roledescription="histogram"
      aria-label=${`${label}. Arrow keys move, Shift and arrow keys select, Enter zooms in.`} aria-describedby="histogram-value"
      onPointerDown=${onPointerDown} onPointerMove=${onPointerMove} onPointerUp=${onPointerUp} onKeyDown=${onKeyDown}
      onPointerCancel=${() => setBrush(null)} onPointerLeave=${() => !brush && setOver(-1)} onBlur=${() => setOver(-1)}>
      ${[0.5, 1].map(
        (part) => html`<line class="grid" x1=${left} x2=${width - 6} y1=${y(max * part)} y2=${y(max * part)} />
          <text class="axis" x=${left - 6} y=${y(max * part) + 4} text-anchor="end">${short(max * part)}</text>`,
      )}
      <line class="base" x1=${left} x2=${width - 6} y1=${height + 0.5} y2=${height + 0.5} />
      ${active && html`<rect class="over" x=${x(over)} y="0" width=${each} height=${height} />`}
      ${sorted.map((one, i) => html`<path class=${one.colour} d=${outline(sorted, i, bars, at, x, y, each)} />`)}
      ${selection && html`<rect class="brush" x=${x(selection[0])} y="0" width=${x(selection[1]) - x(selection[0])} height=${height} />`}
      ${all.map((t) => {
        const px = left + ((t / step - first) / bars) * inner;
        return px > left + 8 && px < width - 20 && html`<text class="axis" x=${px} y=${height + 14} text-anchor="middle">${formatTick(t, zone, apart)}</text>`;
      })}
    </svg>
    <div class="sr" id="histogram-value" aria-live="polite">${active && document.activeElement === svg.current ? sentence(at(over), step, zone, sums[over]) : ''}</div>
    ${active && html`<${Tip} time=${at(over)} ...${{ step, zone }} sum=${sums[over]} series=${sorted} x=${x(over + 0.5)} width=${width} />`}
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

function Tip({ time, step, zone, sum, series, x, width }) {
  const shown = series.map((one) => ({ ...one, n: one.points.get(time) || 0 })).filter((one) => one.n);
  const side = x > width / 2 ? { right: `${width - x + 10}px` } : { left: `${x + 10}px` };
  const digits = step < 1e3 ? 3 : 0;
  return html`<div class="tip" style=${side} aria-hidden="true">
    <div class="tip-time">${formatTime(time, zone, digits)} – ${formatClock(time + step, zone, digits)}</div>
    ${shown.reverse().map(
      (one) => html`<div class="tip-row"><i class=${`dot ${one.colour}`} /><span>${printable(one.name || 'others')}</span><b>${count(one.n)}</b></div>`,
    )}
    ${shown.length !== 1 && html`<div class="tip-row total"><span>total</span><b>${count(sum)}</b></div>`}
  </div>`;
}

/** Legend names the colours. */
export function Legend({ by, series, onPick }) {
  return html`<ul class="legend" aria-label="Legend">
    ${coloured(by, sortSeries(by, series)).map((one) => {
      const n = [...one.points.values()].reduce((sum, v) => sum + v, 0);
      const text = html`<i class=${`dot ${one.colour}`} />${printable(one.name || 'others')} <span class="count">${short(n)}</span>`;
      return html`<li key=${one.name}>
        ${one.name && onPick ? html`<button type="button" class="plain" title=${`Only ${by} ${one.name}`} onClick=${() => onPick(one.name)}>${text}</button>` : text}
      </li>`;
    })}
  </ul>`;
}
