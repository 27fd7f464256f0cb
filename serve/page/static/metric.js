// The result of a metric query: a chart, a table of its series, and the records that it counts.

import { html, useMemo, useRef, useState } from './vendor/htm-preact.js';
import { ChartOptions, CSVButton, LegendButton, linePath, Tip, useCursor, useShown } from './chart.js';
import { timeRows } from './csv.js';
import { short } from './format.js';
import { coloured, sortSeries } from './levels.js';
import { timeTicks, valueScale } from './scale.js';
import { formatTick, formatTime } from './time.js';
import { printable } from './text.js';
import { Button, useWidth } from './ui.js';
import { divided, formatValue, guessUnit, units } from './units.js';

const left = 72;
const right = 12;
const axis = 20;
const maxLines = 40;

const nameOf = (metric) => Object.entries(metric).map(([k, v]) => (Object.keys(metric).length === 1 ? v : `${k}=${v}`)).join(' ') || 'value';

/** seriesOf are the series of a result with their numbers, the largest first. */
function seriesOf(result) {
  const fields = new Set(result.flatMap((one) => Object.keys(one.metric)));
  const all = result.map((one) => {
    const points = new Map(one.values.map(([t, v]) => [Math.round(t * 1e3), Number(v)]).filter(([, v]) => Number.isFinite(v)));
    const values = [...points.values()];
    return {
      points, name: nameOf(one.metric), last: values[values.length - 1], mean: values.reduce((s, v) => s + v, 0) / values.length,
      min: values.reduce((m, v) => Math.min(m, v), Infinity), max: values.reduce((m, v) => Math.max(m, v), -Infinity),
    };
  });
  const by = fields.size === 1 ? [...fields][0] : '';
  return sortSeries(by === 'level' ? by : '', coloured(by, all.sort((a, b) => b.max - a.max || (a.name < b.name ? -1 : 1))));
}

/** stack puts series upon each other: each has the sums below it, by time. */
function stack(series) {
  const sums = new Map();
  return series.map((one) => {
    const below = new Map();
    const points = new Map();
    for (const [t, v] of one.points) {
      below.set(t, sums.get(t) || 0);
      sums.set(t, (sums.get(t) || 0) + v);
      points.set(t, sums.get(t));
    }
    return { ...one, points, below };
  });
}

const area = (one, x, y, step) => {
  const parts = [];
  for (const [t, v] of one.points) {
    const last = parts[parts.length - 1];
    if (last && t - last[last.length - 1][0] <= step * 1.5) last.push([t, v]);
    else parts.push([[t, v]]);
  }
  return parts.map((part) => {
    if (part.length === 1) part.push([part[0][0] + step / 4, part[0][1]]);
    const at = (t) => one.below.get(t) ?? one.below.get(part[0][0]);
    return `${linePath(part, x, y, Infinity)}L${part.toReversed().map(([t]) => `${x(t).toFixed(1)} ${y(at(t)).toFixed(1)}`).join('L')}z`;
  }).join('');
};

function Plot({ id, all, shown, range, zone, unit, stacked, log, over, setOver: setOwn, cursor }) {
  const box = useRef();
  const [elsewhere, report] = useCursor(cursor, id);
  const setOver = (t) => {
    setOwn(t);
    report(t);
  };
  const width = useWidth(box, 900);
  const height = Math.round(Math.max(180, Math.min(420, window.innerHeight * 0.32)));
  const drawn = stacked ? stack(shown) : shown;
  const values = drawn.flatMap((one) => [...one.points.values()]);
  const max = values.reduce((m, v) => Math.max(m, v), 0);
  const { by, suffix } = divided(unit, max);
  const least = values.reduce((m, v) => (v > 0 ? Math.min(m, v) : m), Infinity);
  const scale = valueScale({ min: values.reduce((m, v) => Math.min(m, v), 0) / by, max: max / by || 1, least: least / by, log, ticks: height > 250 ? 5 : 4 });
  const x = (t) => left + ((t - range.from) / (range.to - range.from)) * (width - left - right);
  const y = (v) => height - scale.at(v / by) * (height - 10);
  const move = (t) => setOver(Math.max(Math.ceil(range.from / range.step), Math.min(Math.floor(range.to / range.step), Math.round(t / range.step))) * range.step);
  const onMove = (e) => move(range.from + ((e.clientX - box.current.getBoundingClientRect().left - left) / (width - left - right)) * (range.to - range.from));
  const onKeyDown = (e) => {
    const by_ = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!by_) return;
    move((over ?? (by_ > 0 ? range.from - range.step : range.to + range.step)) + by_ * range.step);
    e.preventDefault();
    e.stopPropagation();
  };
  const { apart, all: times } = timeTicks(range, zone, width - left - right);
  const here = over === null ? [] : shown.map((one) => ({ ...one, n: one.points.get(over) })).filter((one) => one.n !== undefined).sort((a, b) => b.n - a.n);
  return html`<div class="chart" ref=${box} onPointerMove=${onMove} onPointerLeave=${() => setOver(null)}>
    <svg
      width=${width} height=${height + axis} role="application" aria-roledescription="chart" tabindex="0" id=${id} onKeyDown=${onKeyDown} onBlur=${() => setOver(null)}
      aria-label=${`${all.length} series over time. Arrow keys move; the table has the values.`}>
      ${scale.ticks.map((v) => html`<line class="grid" x1=${left} x2=${width - right} y1=${y(v * by)} y2=${y(v * by)} /><text class="axis" x=${left - 8} y=${y(v * by) + 4} text-anchor="end">${short(v)}${v ? suffix : ''}</text>`)}
      ${times.map((t) => x(t) > left + 14 && x(t) < width - 20 && html`<line class="grid" x1=${x(t)} x2=${x(t)} y1="0" y2=${height} /><text class="axis" x=${x(t)} y=${height + 15} text-anchor="middle">${formatTick(t, zone, apart)}</text>`)}
      ${over !== null && html`<line class="base" x1=${x(over)} x2=${x(over)} y1="0" y2=${height} />`}
      ${elsewhere !== null && elsewhere >= range.from && elsewhere <= range.to && html`<line class="cursor" x1=${x(elsewhere)} x2=${x(elsewhere)} y1="0" y2=${height} />`}
      ${drawn.map((one) => html`<path class=${`${stacked ? 'area' : 'line'} ${one.colour}`} d=${stacked ? area(one, x, y, range.step) : linePath([...one.points], x, y, range.step)} />`)}
    </svg>
    ${over !== null && html`<${Tip} time=${over} step=${range.step} zone=${zone} series=${here} x=${x(over)} width=${width} format=${(n) => formatValue(n, unit)} />`}
  </div>`;
}

/** Chart draws the series of a result, and lists them. */
export function Chart({ id = 'chart', result, query, range, state, onChart, cursor }) {
  const zone = state.tz;
  const [over, setOver] = useState(null);
  const all = useMemo(() => seriesOf(result), [result]);
  const { isShown, onLegend } = useShown(all.map((one) => one.name));
  const shown = all.filter((one) => isShown(one.name)).slice(0, maxLines);
  const [stacked, log, unit] = [state.stack === '1', Boolean(state.log), Object.hasOwn(units, state.unit) ? state.unit : guessUnit(query)];
  const format = (v) => (v === undefined ? '–' : formatValue(v, unit));
  const table = () => [['series', 'last', 'mean', 'min', 'max'], ...all.map((one) => [one.name, one.last, one.mean, one.min, one.max])];
  return html`<div class="metric" tabindex="0" role="region" aria-label="Result">
    <div class="metric-head">
      <p class="remark" role="status">${over === null ? `${all.length} series${all.length > maxLines ? `, the ${maxLines} largest are drawn` : ''}` : formatTime(over, zone)}</p>
      <${ChartOptions} ...${{ stacked, log, onChart }} name="chart" rows=${() => timeRows(all.filter((one) => isShown(one.name)))}>
        <label class="unit"><span class="sr">Unit</span>
          <select id="unit" value=${unit} onChange=${(e) => onChart({ unit: e.target.value === guessUnit(query) ? '' : e.target.value })}>
            ${Object.entries(units).map(([value, name]) => html`<option value=${value}>${name}</option>`)}
          </select>
        </label>
      <//>
    </div>
    <${Plot} ...${{ id, cursor, all, shown, range, zone, unit, stacked, log, over, setOver }} />
    <div class="series-table" tabindex="0" role="region" aria-label="Series">
      <table>
        <thead><tr>
          <th scope="col">Series <${CSVButton} name="series" rows=${table} /></th>
          <th scope="col" class="number">${over === null ? 'Last' : 'Here'}</th><th scope="col" class="number">Mean</th><th scope="col" class="number">Min</th><th scope="col" class="number">Max</th>
        </tr></thead>
        <tbody>
          ${all.map(
            (one) => html`<tr key=${one.name}>
              <th scope="row"><${LegendButton} name=${one.name} colour=${one.colour} shown=${isShown(one.name)} onLegend=${onLegend} class="series-name" /></th>
              <td class="number">${format(over === null ? one.last : one.points.get(over))}</td><td class="number">${format(one.mean)}</td><td class="number">${format(one.min)}</td><td class="number">${format(one.max)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </div>`;
}

/** mostRows is the number of rows of the table of values. */
const mostRows = 1000;

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
      <p class="remark" role="status">${rows.length} series, computed once at ${formatTime(range.to, state.tz)}${rows.length > mostRows ? `; the ${mostRows} largest are listed` : ''}</p>
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
          ${rows.slice(0, mostRows).map((one) => html`<tr key=${one.name}>
            ${names.map((name, i) => html`<td>${i === 0 && html`<span class=${`bar ${one.colour}`} style=${{ width: `${largest > 0 ? Math.max(0, (one.n / largest) * 100) : 0}%` }} />`}<bdi dir="ltr">${printable(one.metric[name] || '–')}</bdi></td>`)}
            <td class="number">${formatValue(one.n, unit)}</td>
          </tr>`)}
        </tbody>
      </table>
    </div>
  </div>`;
}
