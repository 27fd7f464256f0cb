// A second query beside the first, in the same range: its own search, histogram and list, and the same cursor.

import { html, useEffect, useLayoutEffect, useMemo, useState } from './vendor/htm-preact.js';
import { Summary } from './chrome.js';
import { Counts } from './counts.js';
import { useExplanation } from './explain.js';
import { sorted } from './fields.js';
import { highlights, kind, logPart, runsAs } from './logql.js';
import { useRefresh } from './pickers.js';
import { Results } from './results.js';
import { secondState } from './state.js';
import { Button, useChanges } from './ui.js';

const live = { name: '', text: '' };

/** SecondPane shows the second query. onOpen gets the list's records and the index of one to show. */
export function SecondPane({ state: whole, search, runs, cursor, columns, actions, onOpen, onSwap, onLayout, onClose }) {
  const state = useMemo(() => secondState(whole), [whole]);
  const found = useChanges(search);
  const explanation = useExplanation(found, state);
  const [text, setText] = useState(state.q);
  const [selected, setSelected] = useState(-1);
  useEffect(() => setText(state.q), [state.q]);
  useLayoutEffect(() => {
    setSelected(-1);
    search.run(state);
  }, [state.q, state.from, state.to, state.tz, state.order, state.case, runs]);
  useRefresh(state, search, () => state);
  useEffect(() => () => search.stop(), []);
  const records = useMemo(() => sorted(found.records, state.sort), state.sort ? [found.records, found.records.length, state.sort] : [found.records]);
  const marks = useMemo(() => highlights(logPart(runsAs(state))), [state.q, state.case]);
  const wrong = found.status === 'error' && found.error?.status === 400;
  const onRun = (e) => {
    e.preventDefault();
    actions.onRun(text);
  };
  return html`<section class="pane second-pane" aria-label="Second query">
    <form class="pane-query" onSubmit=${onRun}>
      <input id="query2" class=${wrong ? 'wrong' : ''} value=${text} placeholder="A second query: words, or LogQL" aria-label="Second query" spellcheck=${false} autocapitalize="off" autocomplete="off" onInput=${(e) => setText(e.target.value)} />
      <${Button} icon="swap" iconOnly label="Swap the queries" onClick=${onSwap} />
      <${Button} icon="split" iconOnly id="split-layout" class=${whole.split === 'stack' ? 'turned' : ''} label=${whole.split === 'stack' ? 'Side by side' : 'One above the other'} onClick=${onLayout} />
      <${Button} icon="close" iconOnly label="Close the second query" onClick=${onClose} />
    </form>
    ${kind(state.q) !== 'metric' && html`<${Counts} id="histogram2" ...${{ found, state, actions, cursor }} />`}
    <p class="pane-found" role="status" id="found2"><${Summary} ...${{ found, state, live }} /></p>
    <div class="results">
      <${Results} id="2" ...${{ state, found, records, columns, marks, selected, actions, live, explanation, cursor }} onSelect=${setSelected} onOpen=${(index) => {
        setSelected(index);
        onOpen({ records, index, found, state });
      }} />
    </div>
  </section>`;
}
