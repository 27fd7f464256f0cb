// The page: its parts, and what happens between them.

import { html, render, useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor/htm-preact.js';
import { logout, nanosOf, onUnauthorized } from './api.js';
import { Header, Toolbar } from './chrome.js';
import { Detail } from './detail.js';
import { Facets } from './facets.js';
import { sorted, summarize, top } from './fields.js';
import { useExplanation } from './explain.js';
import { createCursor } from './chart.js';
import { nextComparison } from './compare.js';
import { Counts } from './counts.js';
import { bindKeys } from './keys.js';
import { follow, liveRecords } from './live.js';
import { countable, everything, filter, filterOf, highlights, inSelector, kind, logPart, quote, runsAs, withParser, withStage } from './logql.js';
import { Help, Login } from './panels.js';
import { useEstimate } from './querybar.js';
import { linkOf } from './queries.js';
import { useRefresh } from './pickers.js';
import { Results } from './results.js';
import { createSearch, labelValues } from './search.js';
import { queries, search, store } from './session.js';
import { columns as columnsOf, decode, secondStore, withColumns } from './state.js';
import { applyTheme, toggleTheme } from './theme.js';
import { formatDuration, resolve } from './time.js';
import { Button, copy, notify, Notices, useChanges } from './ui.js';

/** positionOf names a record in the address: its time, and its number among those of one time. */
function positionOf(records, index) {
  const at = nanosOf(records[index]);
  let number = 0;
  while (index - number > 0 && nanosOf(records[index - number - 1]) === at) number++;
  return number ? `${at}.${number}` : String(at);
}

function indexAt(records, position) {
  if (!position) return -1;
  const [at, number = '0'] = position.split('.');
  const first = records.findIndex((one) => nanosOf(one) === BigInt(/^\d+$/.test(at) ? at : 0));
  const index = first + Number(number);
  return first >= 0 && records[index] && nanosOf(records[index]) === BigInt(at) ? index : -1;
}

/** useLive follows while the state is live. It returns what is known of the connection. */
function useLive(state, query) {
  const [status, setStatus] = useState({ name: '', text: '' });
  useEffect(() => {
    if (!state.live || kind(query) === 'metric') return undefined;
    search.clear(state);
    return follow(query, {
      onRecords: (batch) => search.append(batch, liveRecords),
      onStatus: (name, text = '') => setStatus({ name, text }),
    });
  }, [state.live, query]);
  return status;
}

/** useRuns runs the query when what it depends on changes. */
function useRuns(state, runs) {
  const begun = useRef(false);
  useLayoutEffect(() => {
    const first = !begun.current; // that one has begun already
    begun.current = true;
    if (!state.live && !first) search.run(state);
  }, [state.q, state.from, state.to, state.tz, state.order, state.by, state.live, state.case, state.once, runs]);
}

function App() {
  const state = useChanges(store);
  const found = useChanges(search);
  const [text, setText] = useState(state.q);
  const [runs, setRuns] = useState(0);
  const [selected, setSelected] = useState(-1);
  const [tab, setTab] = useState('fields');
  const [help, setHelp] = useState(false);
  const [facetsOpen, setFacetsOpen] = useState(false);
  const [locked, setLocked] = useState(false);
  const [other, setOther] = useState(null); // the record of the second query that is shown: {records, index, found, state}
  const pending = useRef(state.at);
  const values = useRef(new Map());
  useEffect(() => onUnauthorized(() => setLocked(true)), []);
  useEffect(() => setText(state.q), [state.q]);
  useEffect(() => queries.remember(state), [linkOf(state)]);
  const estimate = useEstimate(text, state);
  const explanation = useExplanation(found, state);
  useRuns(state, runs);
  useRefresh(state, search, store.get);
  const live = useLive(state, runsAs(state));
  const columns = useMemo(() => columnsOf(state), [state.cols]);
  const sort = state.live ? '' : state.sort;
  const records = useMemo(() => sorted(found.records, sort), sort ? [found.records, found.records.length, sort] : [found.records]);
  const marks = useMemo(() => highlights(logPart(runsAs(state))), [state.q, state.case]);

  // Before the next key is pressed, and before a record is selected below: its records may all be there from the beginning.
  useLayoutEffect(() => {
    if (!pending.current) setSelected(-1);
    setOther(null);
  }, [state.q, state.q2, state.split, state.from, state.to, state.order, state.sort, state.live]);
  useEffect(() => {
    if (pending.current && found.records.length) {
      const index = indexAt(found.records, pending.current);
      if (index >= 0) setSelected(state.sort ? records.indexOf(found.records[index]) : index);
      if (index >= 0 || found.status !== 'loading') pending.current = '';
    }
  }, [found.version]);

  const actions = useMemo(() => makeActions({ store, search, setText, setRuns, setHelp, setFacetsOpen, setSelected }), []);
  const second = useMemo(() => {
    const own = { store: secondStore(store), search: createSearch() };
    return { ...own, cursor: createCursor(), actions: makeActions({ ...own, setText() {}, setRuns, setHelp, setFacetsOpen, setSelected() {} }) };
  }, []);
  const [SecondPane, setSecondPane] = useState(null);
  const wantsSplit = Boolean(state.split) && !state.live;
  const split = wantsSplit && SecondPane;
  useEffect(() => {
    if (wantsSplit && !SecondPane) import('./split.js').then((module) => setSecondPane(() => module.SecondPane), () => notify('Cannot load the second query: no connection'));
  }, [wantsSplit]);
  const open = state.at !== '' && selected >= 0 && selected < records.length;
  const place = (index) => positionOf(found.records, state.sort ? found.records.indexOf(records[index]) : index);
  const onSelect = (index) => {
    setOther(null);
    setSelected(index);
    if (store.get().at) store.set({ at: place(index) }, { replace: true });
  };
  const onOpen = (index) => {
    setOther(null);
    setSelected(index);
    store.set({ at: place(index) }, { replace: true });
  };
  const onClose = () => {
    setOther(null);
    if (!other) store.set({ at: '' }, { replace: true });
    document.getElementById(other ? 'records2' : 'records')?.focus();
  };
  const onMoveOther = (by) => setOther({ ...other, index: Math.max(0, Math.min(other.records.length - 1, other.index + by)) });
  const onContext = () => {
    if (selected < 0 && !other) return;
    setTab('context');
    if (!other) onOpen(selected);
  };
  const keys = useRef();
  keys.current = { ...actions, onClose, onContext, open: open || other, facetsOpen, help, live: state.live, onMove: (by) => (other ? onMoveOther(by) : onSelect(Math.max(0, Math.min(records.length - 1, selected + by)))) };
  useEffect(() => bindKeys(() => keys.current), []);

  const completions = {
    values: async (name) => {
      if (!values.current.has(name)) values.current.set(name, await labelValues(name, resolve(store.get())));
      return values.current.get(name);
    },
    fields: useMemo(() => new Map(summarize(found.records.slice(0, 300)).map((f) => [f.name, top(f.values, 20).map(([v]) => v)])), [found.records, found.records.length > 0]),
  };
  if (locked) return html`<${Login} onDone=${() => location.reload()} />`;
  const logs = found.kind !== 'metric';
  const one = html`
    ${logs && !state.live && html`<${Counts} ...${{ found, state, actions }} cursor=${split ? second.cursor : undefined} />`}
    ${logs && html`<${Toolbar} ...${{ state, found, columns, actions, live, estimate }} />`}
    <div class="results" id="results" tabindex="-1">
      <${Results} ...${{ state, found, records, columns, marks, selected, onSelect, onOpen, actions, live, estimate, explanation }} cursor=${split ? second.cursor : undefined} />
    </div>`;
  return html`<div class=${`page ${open || other ? 'with-detail' : ''} ${facetsOpen ? 'with-facets' : ''}`}>
    <${Header} ...${{ state, found, columns, text, setText, estimate, actions, completions, live, explanation }} />
    <div class="body">
      ${logs &&
      html`<nav class="facets" aria-label="Fields" id="facets" tabindex="-1">
        <header class="drawer-head"><h2>Fields</h2><${Button} icon="close" iconOnly label="Close fields" onClick=${() => setFacetsOpen(false)} /></header>
        <${Facets} search=${found} ...${{ state, columns }} onFilter=${actions.onFilter} onBy=${actions.onBy} onColumn=${actions.onColumn} />
      </nav>`}
      <main class=${`center ${split ? `panes ${state.split}` : ''}`}>
        ${split
          ? html`<section class="pane" aria-label="First query">${one}</section>
              <${SecondPane} state=${state} search=${second.search} cursor=${second.cursor} actions=${second.actions} ...${{ runs, columns, onOpen: setOther }}
                onSwap=${actions.onSwap} onLayout=${actions.onLayout} onClose=${actions.onSplit} />`
          : one}
      </main>
      ${other &&
      html`<${Detail}
        ...${other} record=${other.records[other.index]} total=${other.records.length} ...${{ columns, tab, onClose }} actions=${second.actions} marks=${[]} onTab=${setTab}
        onMove=${onMoveOther} />`}
      ${open && !other &&
      html`<${Detail}
        record=${records[selected]} index=${selected} total=${records.length}
        ...${{ state, found, marks, columns, tab, actions, onClose }} onTab=${setTab}
        onMove=${(by) => onSelect(selected + by)} />`}
    </div>
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}
    <${Notices} />
  </div>`;
}

/** aroundTime is what "around this time" shows before and after a record, in ms. */
const aroundTime = 5 * 6e4;

/** everywhere is the query for a value in all services: for its text if that is long and the message has it, otherwise for the field. */
function everywhere(record, name, value, parser) {
  const label = ['service_name', 'level', 'instance', 'source'].includes(name) || parser === inSelector;
  if (!name || (!label && value.length >= 8 && record.line.includes(value))) return `${everything} |= ${quote(value)}`;
  return filter('', name, value, 'in', parser);
}

/** makeActions are what can be done with a query: the store has its state, search what it found. */
function makeActions({ store, search, setText, setRuns, setHelp, setFacetsOpen, setSelected }) {
  const run = (text) => {
    const before = store.get();
    if (text === before.q) setRuns((n) => n + 1);
    else store.set({ q: text, at: '' });
  };
  const setRange = (from, to) => store.set({ from: new Date(from).toISOString(), to: new Date(to).toISOString(), live: '', at: '' });
  const spanned = (f) => {
    const { from, to } = resolve(store.get());
    const [a, b] = f(from, to, to - from);
    setRange(Math.round(a), Math.round(b));
  };
  const actions = {
    onRun: run,
    again: () => setRuns((n) => n + 1),
    confirm: () => search.run(store.get(), { confirmed: true }),
    onStop: () => search.stop(),
    onMore: () => search.more(),
    onChange: (change) => store.set({ ...change, live: '', at: '' }),
    onRange: setRange,
    onShift: (by) => spanned((from, to, span) => [from + (by * span) / 2, to + (by * span) / 2]),
    onZoomOut: () => spanned((from, to, span) => [from - span / 2, Math.min(to + span / 2, Math.max(to, Date.now()))]),
    onFilter(name, value, mode, parser) {
      const text = filter(runsAs(store.get()), name, value, mode, parser);
      setText(text);
      run(text);
    },
    onQuery(text) {
      setText(text);
      store.set({ q: text, at: '', view: 'records' });
    },
    onFind(record, name, value, parser) {
      actions.onQuery(everywhere(record, name, value, parser));
    },
    onAround(record, name, value, parser) {
      const now = logPart(runsAs(store.get()));
      const text = !name ? withStage(now, `|= ${quote(value)}`) : filterOf(now, name, value) === 'in' ? now : filter(now, name, value, 'in', parser);
      setText(text);
      store.set({ q: text, from: new Date(record.ms - aroundTime).toISOString(), to: new Date(record.ms + aroundTime).toISOString(), live: '', at: '', view: 'records' });
    },
    onChartBy(name, parser) {
      const { listed, range } = search.get();
      const query = countable(withParser(listed, name, parser));
      actions.onQuery(`sum by (${name}) (count_over_time(${query} [${formatDuration(range.step)}]))`);
    },
    onPick(service, levels) {
      let text = filter('', 'service_name', service, 'in');
      for (const level of levels) text = filter(text, 'level', level, 'in');
      setText(text);
      run(text);
    },
    onCase: (matchCase) => store.set({ case: matchCase ? '1' : '', at: '' }),
    onChart: (change) => store.set(change, { replace: true }),
    onCompare: () => store.set({ compare: nextComparison(store.get().compare) }, { replace: true }),
    onSaved: (link) => store.set({ ...decode(link), at: '', live: '' }),
    onStatistics(text, once) {
      setText(text);
      store.set({ q: text, once, at: '', live: '', view: 'records' });
    },
    onSplit() {
      const { split, q, q2 } = store.get();
      store.set(split ? { split: '' } : { split: 'side', q2: q2 || q });
      setTimeout(() => document.getElementById(split ? 'split' : 'query2')?.focus(), 50);
    },
    onSwap: () => store.set({ q: store.get().q2, q2: store.get().q, at: '' }),
    onLayout: () => store.set({ split: store.get().split === 'stack' ? 'side' : 'stack' }, { replace: true }),
    onBy: (by) => store.set({ by }, { replace: true }),
    onColumn(name) {
      const now = columnsOf(store.get());
      actions.onColumns(now.includes(name) ? now.filter((one) => one !== name) : [...now, name]);
    },
    onColumns: (names) => store.set({ cols: withColumns(names) }, { replace: true }),
    onOrder: () => store.set({ order: store.get().order === 'newest' ? 'oldest' : 'newest', sort: '', at: '' }, { replace: true }),
    onSort(name) {
      const { sort } = store.get();
      if (name === 'time') {
        if (sort) store.set({ sort: '', at: '' }, { replace: true });
        else actions.onOrder();
      } else store.set({ sort: sort === `-${name}` ? '' : sort === name ? `-${name}` : name, at: '' }, { replace: true });
    },
    onLines: () => store.set({ lines: { 1: '3', 3: 'all' }[store.get().lines] || '1' }, { replace: true }),
    onFormat: () => store.set({ format: store.get().format === 'raw' ? 'readable' : 'raw' }, { replace: true }),
    onView: () => store.set({ view: store.get().view === 'patterns' ? 'records' : 'patterns', live: '' }),
    onRefresh: (refresh) => store.set({ refresh, live: '' }, { replace: true }),
    onLive() {
      setSelected(-1);
      store.set({ live: store.get().live ? '' : '1', at: '', view: 'records' }, { replace: true });
    },
    onHelp: () => setHelp((now) => !now),
    onFacets() {
      setFacetsOpen((now) => !now);
      setTimeout(() => document.querySelector('#facets input')?.focus(), 0);
    },
    closeFacets: () => setFacetsOpen(false),
    onTheme: () => notify(`Theme: ${toggleTheme()}`),
    async onLink() {
      if (await copy(location.href)) notify('Link copied');
    },
    onLogout: () => logout().then(() => location.reload()),
  };
  return actions;
}

applyTheme();
render(html`<${App} />`, document.getElementById('app'));
