// Pickers of the header. Panels that are not needed at first are loaded when they open.

import { html, useEffect, useState } from './vendor/htm-preact.js';
import { Button, Failure, Popover } from './ui.js';
import { labelValues } from './search.js';
import { filterOf } from './logql.js';
import { formatRange, isRelative, parseDuration, resolve } from './time.js';
import { printable } from './text.js';

/** RangePicker chooses the range and the zone. */
export function RangePicker({ state, onChange }) {
  const text = formatRange(state.from, state.to, state.tz);
  return html`<${Popover} id="range" class="end" panelClass="range" icon="clock" label=${`Range: ${text}`} text=${html`<span>${text}</span>`} hint="Range (t)" load=${() => import('./rangepanel.js')}>
    ${(close, { RangePanel }) => html`<${RangePanel} ...${{ state, onChange, close }} />`}
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

/** useRefresh runs the query of a state again and again, unless the page is hidden, the query still runs, or its range does not move. */
export function useRefresh(state, search, get) {
  useEffect(() => {
    const every = parseDuration(state.refresh || '');
    if (!every || state.live || !isRelative(state.to)) return undefined;
    const timer = setInterval(() => !document.hidden && ['done', 'error'].includes(search.get().status) && search.run(get()), every);
    return () => clearInterval(timer);
  }, [state.refresh, state.live, state.q, state.to]);
}

/** QueryPicker chooses a query that was saved, shared or run before; onOpen gets its fragment. */
export const QueryPicker = ({ queries, state, onOpen }) => html`<${Popover} id="queries" icon="bookmark" iconOnly label="Queries" panelClass="queries" hint="Saved and recent queries (q)" load=${() => import('./querypanel.js')}>
  ${(close, { QueryPanel }) => html`<${QueryPanel} ...${{ queries, state, onOpen, close }} />`}
<//>`;

/** Statistics makes a metric query of choices; onRun gets it, and "1" if it is evaluated once. */
export const Statistics = ({ found, state, onRun }) => html`<${Popover} id="statistics" icon="chart" iconOnly label="Statistics" panelClass="statistics-panel" class="end" hint="Statistics (m)" load=${() => import('./statistics.js')}>
  ${(close, { StatisticsPanel }) => html`<${StatisticsPanel} ...${{ found, state, onRun, close }} />`}
<//>`;

/** CommandCopier shows the command lines of the query. */
export const CommandCopier = ({ search, state }) => html`<${Popover} id="command" icon="terminal" label="Copy as logq command" iconOnly hint="Copy as logq command (x)" class="end" panelClass="command" load=${() => import('./commandpanel.js')}>
  ${(close, { CommandPanel }) => html`<${CommandPanel} ...${{ search, state, close }} />`}
<//>`;
