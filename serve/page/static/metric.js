// The result of a metric query: lines over time and a table of them.

import { html, useRef, useState } from './vendor/htm-preact.js';
import { useWidth } from './ui.js';
import { short } from './format.js';
import { printable } from './text.js';
import { formatTick, formatTime } from './time.js';

const height = 260;
const left = 56;
const maxLines = 40;

const nameOf = (metric) => {
  const pairs = Object.entries(metric).map(([k, v]) => (Object.keys(metric).length === 1 ? v : `${k}=${v}`));
  return printable(pairs.join(' ')) || 'value';
};

/** Chart draws the series of a result. */
export function Chart({ result, range, zone }) {
  const box = useRef();
  const width = useWidth(box, 900);
  const [only, setOnly] = useState(-1);
  const [over, setOver] = useState(null);
  const all = result.map((one, i) => {
    const points = one.values.map(([t, v]) => [t * 1e3, Number(v)]).filter(([, v]) => Number.isFinite(v));
    const values = points.map(([, v]) => v);
    const sum = values.reduce((s, v) => s + v, 0);
    return {
      i, points, name: nameOf(one.metric), last: values[values.length - 1], mean: sum / values.length,
      min: values.reduce((m, v) => Math.min(m, v), Infinity), max: values.reduce((m, v) => Math.max(m, v), -Infinity),
    };
  });
  all.sort((a, b) => b.max - a.max);
  const shown = (only >= 0 ? all.filter((one) => one.i === only) : all).slice(0, maxLines);
  const max = shown.reduce((m, one) => Math.max(m, one.max), 0) || 1;
  const min = Math.min(0, shown.reduce((m, one) => Math.min(m, one.min), 0));
  const x = (t) => left + ((t - range.from) / (range.to - range.from)) * (width - left - 10);
  const y = (v) => height - ((v - min) / (max - min)) * (height - 12);
  const apart = (range.to - range.from) / 6;
  const onMove = (e) => {
    const t = range.from + ((e.clientX - box.current.getBoundingClientRect().left - left) / (width - left - 10)) * (range.to - range.from);
    setOver(Math.round(t / range.step) * range.step);
  };
  const at = (one) => one.points.find(([t]) => Math.abs(t - over) < range.step / 2)?.[1];
  return html`<div class="metric" tabindex="0" role="region" aria-label="Result">
    <div class="chart" ref=${box} onPointerMove=${onMove} onPointerLeave=${() => setOver(null)}>
      <svg width=${width} height=${height + 20} role="img" aria-label=${`${all.length} series over time; the table below has their values`}>
        ${[0, 0.25, 0.5, 0.75, 1].map((part) => {
          const v = min + (max - min) * part;
          return html`<line class="grid" x1=${left} x2=${width - 10} y1=${y(v)} y2=${y(v)} /><text class="axis" x=${left - 8} y=${y(v) + 4} text-anchor="end">${short(v)}</text>`;
        })}
        ${[0.5, 1.5, 2.5, 3.5, 4.5, 5.5].map((n) => {
          const t = Math.round((range.from + n * apart) / range.step) * range.step;
          return html`<text class="axis" x=${x(t)} y=${height + 15} text-anchor="middle">${formatTick(t, zone, apart < 864e5 ? range.step : apart)}</text>`;
        })}
        ${over !== null && html`<line class="base" x1=${x(over)} x2=${x(over)} y1="0" y2=${height} />`}
        ${shown.map((one) => html`<path class=${`line series-${one.i % 8}`} d=${lines(one.points, x, y, range.step)} />`)}
      </svg>
    </div>
    <p class="remark">${over === null ? `${all.length} series${all.length > maxLines ? `, the ${maxLines} largest are drawn` : ''}` : formatTime(over, zone)}</p>
    <table>
      <thead><tr><th scope="col">Series</th><th scope="col" class="number">${over === null ? 'Last' : 'Here'}</th><th scope="col" class="number">Mean</th><th scope="col" class="number">Min</th><th scope="col" class="number">Max</th></tr></thead>
      <tbody>
        ${all.map((one) => {
          const here = over === null ? one.last : at(one);
          return html`<tr key=${one.name}>
            <th scope="row"><button type="button" class="plain series-name" aria-pressed=${String(only === one.i)} onClick=${() => setOnly(only === one.i ? -1 : one.i)}><i class=${`dot series-${one.i % 8}`} />${one.name}</button></th>
            <td class="number">${here === undefined ? '–' : short(here)}</td><td class="number">${short(one.mean)}</td><td class="number">${short(one.min)}</td><td class="number">${short(one.max)}</td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

/** lines is a path that is broken where steps have no value. */
function lines(points, x, y, step) {
  let path = '';
  points.forEach(([t, v], i) => {
    const begins = i === 0 || t - points[i - 1][0] > step * 1.5;
    path += `${begins ? 'M' : 'L'}${x(t).toFixed(1)} ${y(v).toFixed(1)}`;
    if (begins && (i === points.length - 1 || points[i + 1][0] - t > step * 1.5)) path += 'h1.5'; // a point alone
  });
  return path;
}
