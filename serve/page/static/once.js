// The result of a metric query that is evaluated once: a table of its series, the largest first.

import { html, useMemo } from './vendor/htm-preact.js';
import { CSVButton } from './chart.js';
import { coloured } from './levels.js';
import { printable } from './text.js';
import { formatTime } from './time.js';
import { Button } from './ui.js';
import { formatValue, guessUnit, units } from './units.js';

const most = 1000;

/** OnceTable lists the series of a result: {metric, value}. */
export function OnceTable({ result, query, range, state, onChart }) {
  const names = useMemo(() => [...new Set(result.flatMap((one) => Object.keys(one.metric)))], [result]);
  const unit = Object.hasOwn(units, state.unit) ? state.unit : guessUnit(query);
  const rows = useMemo(() => {
    const all = result.map((one) => ({ ...one, n: Number(one.value[1]), name: names.map((name) => one.metric[name] || '').join(' ') }));
    return coloured(names.length === 1 ? names[0] : '', all.sort((a, b) => b.n - a.n || (a.name < b.name ? -1 : 1)));
  }, [result, names]);
  const largest = rows.reduce((max, one) => Math.max(max, one.n), 0);
  const table = () => [[...names, 'value'], ...rows.map((one) => [...names.map((name) => one.metric[name]), one.n])];
  return html`<div class="metric" tabindex="0" role="region" aria-label="Result">
    <div class="metric-head">
      <p class="remark" role="status">${rows.length} series, computed once at ${formatTime(range.to, state.tz)}${rows.length > most ? `; the ${most} largest are listed` : ''}</p>
      <span class="buttons chart-options">
        <label class="unit"><span class="sr">Unit</span>
          <select id="unit" value=${unit} onChange=${(e) => onChart({ unit: e.target.value === guessUnit(query) ? '' : e.target.value })}>
            ${Object.entries(units).map(([value, name]) => html`<option value=${value}>${name}</option>`)}
          </select>
        </label>
        <${Button} label="Over time" class="small" hint="Compute at every step of the range" onClick=${() => onChart({ once: '' })} />
        <${CSVButton} name="result" rows=${table} />
      </span>
    </div>
    <div class="once-table" tabindex="0" role="region" aria-label="Series">
      <table>
        <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}<th scope="col" class="number">Value</th></tr></thead>
        <tbody>
          ${rows.slice(0, most).map((one) => html`<tr key=${one.name}>
            ${names.map((name, i) => html`<td>${i === 0 && html`<span class=${`bar ${one.colour}`} style=${{ width: `${largest > 0 ? Math.max(0, (one.n / largest) * 100) : 0}%` }} />`}<bdi dir="ltr">${printable(one.metric[name] || '–')}</bdi></td>`)}
            <td class="number">${formatValue(one.n, unit)}</td>
          </tr>`)}
        </tbody>
      </table>
    </div>
  </div>`;
}
