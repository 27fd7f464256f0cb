// What is happening now: every service with its rate and its errors, those with the most errors first.

import { html, useMemo } from './vendor/htm-preact.js';
import { CSVButton } from './chart.js';
import { count, percent, short } from './format.js';
import { isBad } from './levels.js';
import { Sparkline } from './patterns.js';
import { printable } from './text.js';

/** summarizeServices adds up the parts of a histogram by service. */
export function summarizeServices(parts, { from, to, step }) {
  const bars = Math.max(1, Math.ceil(to / step) - Math.floor(from / step));
  const first = Math.floor(from / step) * step;
  const byName = new Map();
  for (const { labels, points } of parts) {
    const name = labels.service_name;
    if (!name) continue;
    if (!byName.has(name)) byName.set(name, { name, total: 0, errors: 0, warnings: 0, all: new Array(bars).fill(0), bad: new Array(bars).fill(0) });
    const s = byName.get(name);
    for (const [t, n] of points) {
      const bar = Math.round((t - first) / step);
      if (bar < 0 || bar >= bars) continue;
      s.total += n;
      s.all[bar] += n;
      if (isBad(labels.level)) {
        s.errors += n;
        s.bad[bar] += n;
      } else if (labels.level === 'warn') s.warnings += n;
    }
  }
  return [...byName.values()].sort((a, b) => b.errors - a.errors || b.warnings - a.warnings || b.total - a.total || (a.name < b.name ? -1 : 1));
}

/** Overview lists the services. */
export function Overview({ search, onPick, seconds }) {
  const { histogram, range, status } = search;
  const services = useMemo(() => (histogram ? summarizeServices(histogram.parts, range) : []), [histogram]);
  if (!histogram) return status === 'loading' ? html`<div class="empty" role="status"><p class="working">Counting records …</p></div>` : null;
  if (!services.length) return null;
  const errors = services.reduce((sum, s) => sum + s.errors, 0);
  const failing = services.filter((s) => s.errors).length;
  const rows = () => [['service', 'errors', 'warnings', 'records', 'per second'], ...services.map((s) => [s.name, s.errors, s.warnings, s.total, s.total / seconds])];
  return html`<div class="overview" tabindex="0" role="region" aria-label="Services">
    <p class="summary">
      <b>${count(histogram.total)}</b> records of <b>${services.length}</b> ${services.length === 1 ? 'service' : 'services'},
      ${errors ? html` <b class="bad">${count(errors)}</b> errors in <b>${failing}</b>` : html` <b class="good">no errors</b>`}
      <${CSVButton} name="services" rows=${rows} />
    </p>
    <table>
      <thead>
        <tr>
          <th scope="col">Service</th><th scope="col" class="number">Errors</th><th scope="col" class="number">Share</th><th scope="col" class="wide">Errors over time</th>
          <th scope="col" class="number">Warnings</th><th scope="col" class="number">Records</th><th scope="col" class="number">Per second</th><th scope="col" class="wide">Records over time</th>
        </tr>
      </thead>
      <tbody>
        ${services.map(
          (s) => html`<tr key=${s.name}>
            <th scope="row"><button type="button" class="link" onClick=${() => onPick(s.name, [])}>${printable(s.name)}</button></th>
            <td class="number">${s.errors ? html`<button type="button" class="link bad" aria-label=${`${count(s.errors)} errors of ${s.name}`} onClick=${() => onPick(s.name, ['error', 'fatal'])}>${count(s.errors)}</button>` : html`<span class="none">0</span>`}</td>
            <td class="number">${s.errors ? percent(s.errors, s.total) : html`<span class="none">–</span>`}</td>
            <td class="spark level-error wide"><${Sparkline} values=${s.bad} /></td>
            <td class="number">${s.warnings ? html`<button type="button" class="link warn" aria-label=${`${count(s.warnings)} warnings of ${s.name}`} onClick=${() => onPick(s.name, ['warn'])}>${count(s.warnings)}</button>` : html`<span class="none">0</span>`}</td>
            <td class="number">${count(s.total)}</td>
            <td class="number">${short(s.total / seconds)}</td>
            <td class="spark level-info wide"><${Sparkline} values=${s.all} /></td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
