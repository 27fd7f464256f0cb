// The results in the middle: the list, the services, patterns or a chart, or why there are none.

import { html, useMemo } from './vendor/htm-preact.js';
import { Toolbar } from './chrome.js';
import { Empty } from './empty.js';
import { isMistake, Reasons } from './explain.js';
import { bytes, count, dollars } from './format.js';
import { layoutOf } from './layout.js';
import { List } from './list.js';
import { Chart, OnceTable } from './metric.js';
import { Overview } from './overview.js';
import { Patterns } from './patterns.js';
import { printable } from './text.js';
import { Button, Failure, Icon } from './ui.js';

/** Results chooses what is shown. */
export function Results({ id = '', state, found, records, columns, marks, selected, onSelect, onOpen, actions, live, estimate, explanation, cursor }) {
  const { status, error, kind } = found;
  const key = [state.cols, state.lines, state.tz, state.format, state.sort, state.order, Math.min(records.length, 200)].join(' ');
  const layout = useMemo(() => layoutOf(state, columns, records), [key, records]);
  const failed = status === 'error' && error && error.status !== 401;
  const failure = () =>
    isMistake(error) ? html`<${Mistake} ...${{ error, explanation, actions }} />` : html`<${Failure} title=${titleOf(error)} error=${error} onRetry=${actions.again} />`;
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
  if (state.view === 'patterns' && failed && isMistake(error)) return failure(); // patterns are of the selector alone
  if (state.view === 'patterns' && kind !== 'metric') return html`<${Patterns} search=${found} state=${state} onQuery=${actions.onQuery} />`;
  if (kind === 'metric') {
    if (failed) return failure();
    if (!found.result) return html`<div class="empty" role="status"><p class="working">Computing …</p></div>`;
    if (!found.result.length) return html`<${Empty} ...${{ state, found, actions, explanation }} />`;
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
    if (failed) return failure();
    if (status === 'done' && found.histogram && !found.histogram.total) return html`<${Empty} ...${{ state, found, actions, explanation }} />`;
    return html`<${Overview} search=${found} onPick=${actions.onPick} seconds=${found.range ? (found.range.to - found.range.from) / 1e3 : 1} />`;
  }
  if (!records.length) {
    if (failed) return failure();
    if (status === 'loading') return html`<div class="empty" role="status"><p class="working">Searching …</p>${estimate?.bytes > 5e8 && html`<p class="remark">Up to ${bytes(estimate.bytes)} are read.</p>`}</div>`;
    if (status === 'idle') return html`<div class="empty"><h2>Stopped</h2><${Button} icon="play" label="Run again" onClick=${actions.again} /></div>`;
    return html`<${Empty} ...${{ state, found, actions, explanation }} />`;
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

/** Mistake shows what is wrong with the query, and its correction. The query bar marks the place. */
function Mistake({ error, explanation, actions }) {
  const [mistake] = explanation.reasons;
  return html`<div class="failure" role="alert">
    <${Icon} name="warning" />
    <div id="mistake">
      <strong>Invalid query</strong>
      <${Reasons} explanation=${{ busy: false, reasons: [mistake || { text: error.message, corrections: [] }] }} actions=${actions} />
    </div>
  </div>`;
}

function Confirm({ estimate, onRun }) {
  return html`<div class="empty" role="alertdialog" aria-label="Cost of the query">
    <h2>This query may cost ${dollars(estimate.cost_usd)}</h2>
    <p>It reads at most ${count(estimate.segments)} segments, ${bytes(estimate.bytes)}. A shorter range, a service or a level reads less.</p>
    <${Button} icon="play" class="primary" label="Run it" onClick=${onRun} />
  </div>`;
}
