// Pickers of the header: the range, the services, the refresh.

import { html, useEffect, useState } from './vendor/htm-preact.js';
import { Button, Failure, Popover } from './ui.js';
import { labelValues } from './search.js';
import { filterOf } from './logql.js';
import { formatOffset, formatRange, formatTime, isRelative, isZone, parseTime, relativeRanges, resolve, zoneName, zones } from './time.js';
import { printable } from './text.js';

const input = (text, zone, now) => (isRelative(text) ? text : formatTime(parseTime(text, now, zone), zone, 3).replace('.000', ''));

function RangePanel({ state, onChange, close }) {
  const now = Date.now();
  const [from, setFrom] = useState(input(state.from, state.tz, now));
  const [to, setTo] = useState(input(state.to, state.tz, now));
  const [zone, setZone] = useState(state.tz);
  const valid = isZone(zone) ? zone : 'local';
  const [a, b] = [parseTime(from, now, valid), parseTime(to, now, valid)];
  const wrong = Number.isNaN(a) ? 'from' : Number.isNaN(b) ? 'to' : b <= a ? 'order' : !isZone(zone) ? 'zone' : '';
  const texts = { from: 'This is not a time.', to: 'This is not a time.', order: 'The range ends before it starts.', zone: 'This zone is unknown.' };
  const store = (text, ms) => (isRelative(text.trim()) ? text.trim() : new Date(ms).toISOString());
  const apply = (e) => {
    e.preventDefault();
    if (wrong) return;
    onChange({ from: store(from, a), to: store(to, b), tz: zone });
    close();
  };
  return html`<div class="range-panel">
    <ul aria-label="Ranges before now">
      ${relativeRanges.map(([value, label]) => html`<li><button type="button" class="plain choice" aria-pressed=${String(state.from === value && state.to === 'now')} onClick=${() => {
        onChange({ from: value, to: 'now' });
        close();
      }}>${label}</button></li>`)}
    </ul>
    <form onSubmit=${apply}>
      <label>From<input id="range-from" value=${from} onInput=${(e) => setFrom(e.target.value)} aria-invalid=${String(wrong === 'from')} spellcheck=${false} /></label>
      <label>To<input id="range-to" value=${to} onInput=${(e) => setTo(e.target.value)} aria-invalid=${String(wrong === 'to')} spellcheck=${false} /></label>
      <label>Zone<input id="range-zone" list="zones" value=${zone} onInput=${(e) => setZone(e.target.value)} aria-invalid=${String(wrong === 'zone')} spellcheck=${false} /></label>
      <datalist id="zones"><option value="local" /><option value="UTC" />${zones().map((name) => html`<option value=${name} />`)}</datalist>
      <p class="remark" role="status">${wrong ? html`<span class="bad">${texts[wrong]}</span>` : `${zoneName(valid)}, ${formatOffset(now, valid)}. Times: 2026-11-20 15:04:05, 15:04, now-2h.`}</p>
      <button class="button primary" disabled=${Boolean(wrong)}>Apply</button>
    </form>
  </div>`;
}

/** RangePicker chooses the range and the zone. */
export function RangePicker({ state, onChange }) {
  const text = formatRange(state.from, state.to, state.tz);
  return html`<${Popover} id="range" class="end" panelClass="range" icon="clock" label=${`Range: ${text}`} text=${html`<span>${text}</span>`} hint="Range (t)">
    ${(close) => html`<${RangePanel} ...${{ state, onChange, close }} />`}
  <//>`;
}

/** RangeMoves are the buttons beside it. */
export function RangeMoves({ onShift, onZoomOut }) {
  return html`<div class="buttons moves" role="group" aria-label="Move the range">
    <${Button} icon="left" iconOnly label="Earlier" hint="Earlier ([)" onClick=${() => onShift(-1)} />
    <${Button} icon="minus" iconOnly label="Longer range" hint="Longer range (-)" onClick=${onZoomOut} />
    <${Button} icon="right" iconOnly label="Later" hint="Later (])" onClick=${() => onShift(1)} />
  </div>`;
}

function ServicePanel({ state, query, onFilter }) {
  const [found, setFound] = useState({ busy: true });
  const [find, setFind] = useState('');
  useEffect(() => {
    const controller = new AbortController();
    let range;
    try {
      range = resolve(state);
    } catch {
      range = { from: Date.now() - 36e5, to: Date.now() };
    }
    labelValues('service_name', range, controller.signal).then(
      (values) => setFound({ values }),
      (error) => error.name !== 'AbortError' && setFound({ error }),
    );
    return () => controller.abort();
  }, []);
  if (found.error) return html`<${Failure} title="Cannot list services" error=${found.error} />`;
  const values = (found.values || []).filter((name) => name.toLowerCase().includes(find.toLowerCase()));
  return html`<div class="service-panel">
    <input type="search" autofocus placeholder="Find a service" aria-label="Find a service" value=${find} onInput=${(e) => setFind(e.target.value)} />
    ${found.busy && html`<p class="remark working" role="status">Listing services …</p>`}
    ${!found.busy && !values.length && html`<p class="remark">${found.values.length ? 'No service has this in its name.' : 'No service has records in this range.'}</p>`}
    <ul>
      ${values.map((name) => {
        const chosen = filterOf(query, 'service_name', name) === 'in';
        return html`<li key=${name}><label class="choice"><input type="checkbox" checked=${chosen} onChange=${() => onFilter('service_name', name, 'in')} /> ${printable(name)}</label></li>`;
      })}
    </ul>
  </div>`;
}

/** ServicePicker chooses services; the query has them. */
export function ServicePicker({ state, query, services, onFilter }) {
  const text = services.length === 0 ? 'All services' : services.length === 1 ? services[0] : `${services.length} services`;
  return html`<${Popover} id="services" panelClass="services" icon="rows" label=${`Services: ${text}`} text=${html`<span class="ellipsis">${printable(text)}</span>`} hint="Services (s)">
    ${() => html`<${ServicePanel} ...${{ state, query, onFilter }} />`}
  <//>`;
}

/** RefreshPicker chooses how often the query runs again. */
export function RefreshPicker({ value, onChange }) {
  return html`<label class="refresh" title="Run again automatically"><span class="sr">Refresh every</span>
    <select id="refresh" value=${value} onChange=${(e) => onChange(e.target.value)}>
      <option value="">Refresh: off</option>
      ${['5s', '10s', '30s', '1m', '5m'].map((d) => html`<option value=${d}>every ${d}</option>`)}
    </select>
  </label>`;
}
