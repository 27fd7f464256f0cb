// What stands in place of records if there are none.

import { html, useState } from './vendor/htm-preact.js';
import { records as readRecords } from './api.js';
import { Reasons } from './explain.js';
import { formatDate, nanos, relativeRanges } from './time.js';
import { Button, Failure } from './ui.js';

/** Empty explains that nothing was found, and helps on. */
export function Empty({ state, found, actions, explanation }) {
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
    ${explanation.reasons.length === 0 && html`<p>${found.kind === 'nothing' ? 'Nothing was logged in this range.' : 'Nothing in this range matches the query.'}</p>`}
    <${Reasons} explanation=${explanation} actions=${actions} />
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
