// The state of the page: all of it is in the fragment of its address, so that a link shows the same.

import { isZone } from './time.js';

/** defaults are the values that the fragment leaves out. */
export const defaults = Object.freeze({
  q: '', // what the query bar has
  case: '', // 1 if the case of words matters
  q2: '', // a second query beside it
  split: '', // how the two are shown: side, stack, or not
  from: 'now-1h',
  to: 'now',
  tz: 'local',
  view: 'records', // or patterns
  by: 'level', // what colours the histogram
  cols: '', // fields, separated by commas
  order: 'newest', // or oldest
  lines: '1', // of a record in the list: 1, 3 or all
  sort: '', // the column that sorts the list, with - for descending; none is by time
  format: 'readable', // or raw: how the list shows JSON
  stack: '', // 1 or 0: whether charts are stacked; by default the histogram is
  log: '', // a logarithmic axis
  once: '', // a metric query is evaluated once, at the end of the range
  compare: '', // the histogram has that of a time before, too: period, day or week
  unit: '', // of a metric query's values; none is guessed
  live: '',
  refresh: '', // a duration
  at: '', // the record shown: its time and its number among those of one time
});

/** decode reads a fragment. Unknown names are ignored. */
export function decode(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  const state = { ...defaults };
  for (const name of Object.keys(defaults)) if (given.has(name)) state[name] = given.get(name);
  if (!isZone(state.tz)) state.tz = defaults.tz;
  return state;
}

/** encode is the fragment of a state. */
export function encode(state) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(defaults)) if (state[name] !== value) params.set(name, state[name]);
  const text = params.toString();
  return text ? '#' + text : '#';
}

/** createStore keeps the state and the fragment the same. */
export function createStore(win = window) {
  let state = decode(win.location.hash);
  const listeners = new Set();
  const changed = (before) => listeners.forEach((f) => f(state, before));
  win.addEventListener('popstate', () => {
    const before = state;
    state = decode(win.location.hash);
    changed(before);
  });
  return {
    get: () => state,
    /** set changes values. Changes that only refine what is shown replace the entry of the history. */
    set(change, { replace = false } = {}) {
      const before = state;
      state = { ...state, ...change };
      const now = encode(state);
      if (now !== encode(before)) win.history[replace ? 'replaceState' : 'pushState'](null, '', now);
      changed(before);
    },
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
  };
}

/** columns are the fields that the list shows beside the message. */
export const columns = (state) => (state.cols ? state.cols.split(',').map(decodeURIComponent) : []);

/** withColumns is the value of the state for columns. */
export const withColumns = (names) => names.map((name) => encodeURIComponent(name)).join(',');

/** secondStore is the state of the page with the second query in place of the first. What is only of the first stays as it is. */
export function secondStore(store) {
  const first = ['at', 'live', 'view', 'once', 'by'];
  return {
    get: () => secondState(store.get()),
    set(change, options) {
      const { q, ...rest } = change;
      for (const name of first) delete rest[name];
      store.set(q === undefined ? rest : { ...rest, q2: q }, options);
    },
  };
}

/** secondState is what the second query is searched with: its histogram is by level, its metric queries are charts. */
export const secondState = (state) => ({ ...state, q: state.q2, q2: '', at: '', live: '', view: 'records', by: 'level', once: '' });
