// The results in the middle: the list, the services, patterns or a chart, or why there are none.

import { html, useMemo, useState } from './vendor/htm-preact.js';
import { records as readRecords } from './api.js';
import { Toolbar } from './chrome.js';
import { bytes, count, dollars } from './format.js';
import { layoutOf } from './layout.js';
import { List } from './list.js';
import { Chart, OnceTable } from './metric.js';
import { Overview } from './overview.js';
import { Patterns } from './patterns.js';
import { printable } from './text.js';
import { formatDate, nanos, relativeRanges } from './time.js';
import { Button, Failure } from './ui.js';

/** Results chooses what is shown. */
export function Results({ id = '', state, found, records, columns, marks, selected, onSelect, onOpen, actions, live, estimate, cursor }) {
  const { status, error, kind } = found;
  const key = [state.cols, state.lines, state.tz, state.format, state.sort, state.order, Math.min(records.length, 200)].join(' ');
  const layout = useMemo(() => layoutOf(state, columns, records), [key, records]);
  const failed = status === 'error' && error && error.status !== 401;
  const list = () => html`<${List}
      id=${`records${id}`} ...${{ records, selected, layout, marks, onSelect, onOpen }} busy=${['loading', 'paging'].includes(status)} follow=${Boolean(state.live)}
      onMore=${found.more && !state.sort ? actions.onMore : null} resetKey=${`${found.query} ${found.range?.from} ${found.order} ${state.sort}`} end=${endOf(found, state, actions)}
      onSort=${state.live ? null : actions.onSort} />`;
  if (status === 'confirm') return html`<${Confirm} estimate=${found.estimate} onRun=${actions.confirm} />`;
  if (state.live && !records.length) {
    return html`<div class="empty" role="status">
      ${live.name === 'closed' ? html`<h2>Not connected</h2><p>${live.text}. Reconnecting.</p>` : html`<h2 class="working">Waiting for records</h2><p>Records arrive when their shipper has stored them: ${live.name === 'watched' ? 'within seconds' : 'by default within a minute'} of being logged.</p>`}
    </div>`;
  }
  if (state.view === 'patterns' && kind !== 'metric') return html`<${Patterns} search=${found} state=${state} onQuery=${actions.onQuery} />`;
  if (kind === 'metric') {
    if (failed) return html`<${Failure} title=${titleOf(error)} error=${error} onRetry=${actions.again} />`;
    if (!found.result) return html`<div class="empty" role="status"><p class="working">Computing …</p></div>`;
    if (!found.result.length) return html`<${Empty} ...${{ state, found, actions }} />`;
    return html`<div class="metric-page">
      ${found.once
        ? html`<${OnceTable} result=${found.result} query=${found.query} range=${found.range} state=${state} onChart=${actions.onChart} />`
        : html`<${Chart} id=${`chart${id}`} result=${found.result} query=${found.query} range=${found.range} state=${state} onChart=${actions.onChart} cursor=${cursor} />`}
      ${found.listed && html`<section class="metric-records" aria-label="Records of the query">
        <h2 class="remark">${found.recordsError ? html`The records cannot be read: ${found.recordsError.message}` : html`Records of <code>${printable(found.listed)}</code>`}</h2>
        ${records.length > 0 && html`${!id && html`<${Toolbar} ...${{ state, found, columns, actions, live }} />`}${list()}`}
      </section>`}
    </div>`;
  }
  if (kind === 'nothing' && !state.live) {
    if (failed) return html`<${Failure} title=${titleOf(error)} error=${error} onRetry=${actions.again} />`;
    if (status === 'done' && found.histogram && !found.histogram.total) return html`<${Empty} ...${{ state, found, actions }} />`;
    return html`<${Overview} search=${found} onPick=${actions.onPick} seconds=${found.range ? (found.range.to - found.range.from) / 1e3 : 1} />`;
  }
  if (!records.length) {
    if (failed) return html`<${Failure} title=${titleOf(error)} error=${error} onRetry=${actions.again} />`;
    if (status === 'loading') return html`<div class="empty" role="status"><p class="working">Searching …</p>${estimate?.bytes > 5e8 && html`<p class="remark">Up to ${bytes(estimate.bytes)} are read.</p>`}</div>`;
    if (status === 'idle') return html`<div class="empty"><h2>Stopped</h2><${Button} icon="play" label="Run again" onClick=${actions.again} /></div>`;
    return html`<${Empty} ...${{ state, found, actions }} />`;
  }
  const partial = failed && html`<${Failure} title=${`Incomplete: ${count(records.length)} records arrived before it failed`} error=${error} onRetry=${actions.again} />`;
  return html`${partial} ${list()}`;
}

function endOf(found, state, actions) {
  if (state.live) return '';
  if (found.status === 'paging' || found.status === 'loading') return html`<span class="working">Reading more …</span>`;
  if (found.limited) return html`The list ends at ${count(found.records.length)} records. A shorter range shows the rest, a download contains all.`;
  if (state.sort && found.more) {
    return html`The ${count(found.records.length)} records of the list are sorted. <button type="button" class="link" onClick=${actions.onMore}>Read more</button>`;
  }
  return found.more || found.status === 'error' ? '' : `End: ${found.records.length === 1 ? 'one record' : `all ${count(found.records.length)} records`} of the range`;
}

/** titleOf is what an error means. */
function titleOf(error) {
  if (/limit|budget|maximum/i.test(error.message) && error.status === 400) return 'Over a limit';
  if (/would be incomplete/.test(error.message)) return 'Some data could not be read';
  return { 0: 'No connection', 400: 'Invalid query', 403: 'Not allowed', 429: 'Too many queries', 503: 'Storage is unavailable', 504: 'The query took too long' }[error.status] || 'The query failed';
}

function Confirm({ estimate, onRun }) {
  return html`<div class="empty" role="alertdialog" aria-label="Cost of the query">
    <h2>This query may cost ${dollars(estimate.cost_usd)}</h2>
    <p>It reads at most ${count(estimate.segments)} segments, ${bytes(estimate.bytes)}. A shorter range, a service or a level reads less.</p>
    <${Button} icon="play" class="primary" label="Run it" onClick=${onRun} />
  </div>`;
}

/** Empty explains that nothing was found, and helps on. */
function Empty({ state, found, actions }) {
  const [newest, setNewest] = useState(null); // {ms} or {none} or {busy} or {error}
  const i = relativeRanges.findIndex(([value]) => value === state.from);
  const longer = relativeRanges.slice(i < 0 ? 5 : i + 1).filter((_, n) => n === 0 || n === 3);
  const find = async () => {
    setNewest({ busy: true });
    try {
      let ms;
      const to = Date.now() + 36e5;
      for (const days of [2, 30, 365]) {
        await readRecords({ query: found.query, start: nanos(to - days * 864e5), end: nanos(to), limit: 1, max_line: 1 }, undefined, (all) => (ms = all[0].ms));
        if (ms) break;
      }
      setNewest(ms ? { ms } : { none: true });
    } catch (error) {
      setNewest({ error });
    }
  };
  const show = (ms) => actions.onRange(Math.floor(ms / 6e4) * 6e4 - 54e5, Math.ceil((ms + 1) / 6e4) * 6e4);
  return html`<div class="empty" role="status">
    <h2>No records</h2>
    <p>${found.kind === 'nothing' ? 'Nothing was logged in this range.' : 'Nothing in this range matches the query.'}</p>
    <p class="buttons">
      ${longer.map(([value, label]) => html`<${Button} icon="clock" label=${label} onClick=${() => actions.onChange({ from: value, to: 'now' })} />`)}
      ${found.kind !== 'metric' && html`<${Button} icon="search" id="find-newest" label="Find the newest records" disabled=${Boolean(newest?.busy)} onClick=${find} />`}
    </p>
    ${newest?.busy && html`<p class="working">Searching the last year …</p>`}
    ${newest?.none && html`<p>There are none in the last year.</p>`}
    ${newest?.error && html`<${Failure} title="Cannot search the last year" error=${newest.error} />`}
    ${newest?.ms && html`<p>The newest is from ${formatDate(newest.ms, state.tz)}. <button type="button" class="link" id="show-newest" onClick=${() => show(newest.ms)}>Show the hours before it</button></p>`}
  </div>`;
}
