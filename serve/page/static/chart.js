// What charts share: the legend, the values at a time, and the choices of how they are drawn.

import { html, useState } from './vendor/htm-preact.js';
import { saveCSV } from './csv.js';
import { printable } from './text.js';
import { formatClock, formatTime } from './time.js';
import { Button, useChanges } from './ui.js';

/** useShown is which of the series are drawn: all, or those that the legend left. A click isolates one, with Shift or Ctrl it hides one. */
export function useShown(names) {
  const [hidden, setHidden] = useState(new Set());
  const left = names.filter((name) => !hidden.has(name));
  const isShown = (name) => !left.length || !hidden.has(name);
  const onLegend = (name, e) => {
    const next = new Set(hidden);
    if (e.shiftKey || e.ctrlKey || e.metaKey) {
      if (!next.delete(name)) next.add(name);
    } else {
      const alone = left.length === 1 && left[0] === name && names.length > 1;
      next.clear();
      if (!alone) names.filter((one) => one !== name).forEach((one) => next.add(one));
    }
    setHidden(next);
  };
  return { isShown, onLegend };
}

/** LegendButton is the name of a series in a legend or a table. */
export const LegendButton = ({ name, colour, shown, onLegend, class: className = '', children }) =>
  html`<button
    type="button" class=${`plain legend-button ${shown ? '' : 'off'} ${className}`} aria-pressed=${String(shown)} title="Only this series, or all again; with Shift: without it"
    onClick=${(e) => onLegend(name, e)}><i class=${`dot ${colour}`} />${printable(name || 'others')}${children}</button>`;

/** CSVButton saves rows as CSV. */
export const CSVButton = ({ name, rows, hint = 'The table as CSV' }) => html`<${Button} icon="download" label="CSV" class="small" hint=${hint} onClick=${() => saveCSV(name, rows())} />`;

/** ChartOptions are the choices of a chart, and its values as CSV. */
export const ChartOptions = ({ stacked, log, onChart, name, rows, children }) =>
  html`<span class="buttons chart-options">
    ${children}
    <${Button} label="Stacked" class="small" pressed=${stacked} onClick=${() => onChart({ stack: stacked ? '0' : '1' })} />
    <${Button} label="Log" class="small" hint="Logarithmic axis" pressed=${log} onClick=${() => onChart({ log: log ? '' : '1' })} />
    <${CSVButton} ...${{ name, rows }} hint="Values of the chart as CSV" />
  </span>`;

const maxRows = 24;

/** Tip shows the values of series at a time: series are {name, colour, n}, in the order in which they are shown; before is {name, n} of a time before. */
export function Tip({ time, step, zone, series, x, width, format, total, before }) {
  const side = x > width / 2 ? { right: `${width - x + 10}px` } : { left: `${x + 10}px` };
  const digits = step < 1e3 ? 3 : 0;
  return html`<div class="tip" style=${side} aria-hidden="true">
    <div class="tip-time">${formatTime(time, zone, digits)}${total === undefined ? '' : ` – ${formatClock(time + step, zone, digits)}`}</div>
    ${series.slice(0, maxRows).map((one) => html`<div class="tip-row"><i class=${`dot ${one.colour}`} /><span>${printable(one.name || 'others')}</span><b>${format(one.n)}</b></div>`)}
    ${series.length > maxRows && html`<div class="tip-row"><span>${series.length - maxRows} more</span></div>`}
    ${total !== undefined && series.length !== 1 && html`<div class="tip-row total"><span>total</span><b>${format(total)}</b></div>`}
    ${before && html`<div class="tip-row"><i class="dot ghost-dot" /><span>${before.name}</span><b>${format(before.n)}</b></div>`}
  </div>`;
}

/** linePath is a path through points [time, value] that is broken where steps have no value. */
export function linePath(points, x, y, step) {
  let path = '';
  points.forEach(([t, v], i) => {
    const begins = i === 0 || t - points[i - 1][0] > step * 1.5;
    path += `${begins ? 'M' : 'L'}${x(t).toFixed(1)} ${y(v).toFixed(1)}`;
    if (begins && (i === points.length - 1 || points[i + 1][0] - t > step * 1.5)) path += 'h1.5'; // a point alone
  });
  return path;
}

/** createCursor is a time in ms and the chart that has the pointer; null without one. */
export function createCursor() {
  const listeners = new Set();
  let current = null;
  return {
    get: () => current,
    set(next) {
      if (next?.at === current?.at && next?.owner === current?.owner) return;
      current = next;
      listeners.forEach((f) => f());
    },
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
  };
}

const none = { get: () => null, set() {}, subscribe: () => () => {} };

/** useCursor is the time that another chart has under the pointer, null without one, and what reports the own one. cursor may be undefined. */
export function useCursor(cursor = none, owner) {
  const now = useChanges(cursor);
  return [now && now.owner !== owner ? now.at : null, (at) => cursor.set(at === null ? null : { at, owner })];
}
