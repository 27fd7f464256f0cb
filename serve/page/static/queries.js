// Queries that the browser remembers: the last ones, and those that were saved. A query is the fragment that shows it.

import { kind, runsAs } from './logql.js';
import { columns, decode, defaults, encode, withColumns } from './state.js';
import { parseDuration } from './time.js';

const key = 'logstow-queries';
const mostRecent = 50;
const mostSaved = 500;
const maxFile = 1 << 20;

/** linkOf is the fragment of a query: of the state without what is only of the moment. */
export const linkOf = (state) => encode({ ...state, at: '', live: '' });

const isQuery = (one) => one && typeof one.link === 'string' && one.link.startsWith('#');

/** createQueries keeps queries in a storage, such as localStorage: {recent: [{link}], saved: [{name, link}]}. Without one they last until the page is closed. */
export function createQueries(storage = () => localStorage) {
  const listeners = new Set();
  let memory = '';
  const read = () => {
    let text = memory;
    try {
      text = storage().getItem(key) || '';
    } catch {
      // Storage is disabled.
    }
    try {
      const { recent = [], saved = [] } = JSON.parse(text || '{}');
      return { recent: recent.filter(isQuery), saved: saved.filter((one) => isQuery(one) && typeof one.name === 'string') };
    } catch {
      return { recent: [], saved: [] };
    }
  };
  let current = read();
  const write = (next) => {
    current = next;
    memory = JSON.stringify(next);
    try {
      storage().setItem(key, memory);
    } catch {
      // It is full or disabled.
    }
    listeners.forEach((f) => f());
  };
  /** change begins with what other tabs have written meanwhile. */
  const change = (f) => write(f(read()));
  return {
    get: () => current,
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    /** remember puts a query in front of the recent ones, in place of the same with another range or view. */
    remember(state) {
      if (kind(state.q) === 'nothing') return;
      const same = (one) => {
        const { q, q2 } = decode(one.link);
        return q === state.q && q2 === state.q2;
      };
      change(({ recent, saved }) => ({ saved, recent: [{ link: linkOf(state) }, ...recent.filter((one) => !same(one))].slice(0, mostRecent) }));
    },
    /** save keeps queries {name, link}; a name that exists is replaced. */
    save(queries) {
      const names = new Set(queries.map((one) => one.name));
      change(({ recent, saved }) => ({ recent, saved: [...saved.filter((one) => !names.has(one.name)), ...queries].slice(-mostSaved) }));
    },
    remove: (name) => change(({ recent, saved }) => ({ recent, saved: saved.filter((one) => one.name !== name) })),
    forget: () => change(({ saved }) => ({ recent: [], saved })),
  };
}

/** rangeOf is the length of a range before now, "" of others. */
const rangeOf = ({ from, to }) => (to === 'now' && /^now-[\d.a-z]+$/.test(from) && !Number.isNaN(parseDuration(from.slice(4))) ? from.slice(4) : '');

/** exported is the text of a file of queries, which "logq serve --queries" reads too. */
export function exported(queries) {
  const all = queries.map(({ name, link }) => {
    const state = decode(link);
    const [range, cols] = [rangeOf(state), columns(state)];
    return { name, query: runsAs(state), ...(range && { range }), ...(cols.length && { columns: cols }), link };
  });
  return JSON.stringify({ queries: all }, null, 2) + '\n';
}

/** linkOfShared is the fragment of a query of the server or of a file: {query, range, columns, link}. zone is the one at present. */
export function linkOfShared({ query, range, columns: cols = [], link }, { tz, from, to }) {
  if (link) return linkOf(decode(link));
  return encode({ ...defaults, q: query, tz, from: range ? `now-${range}` : from, to: range ? 'now' : to, cols: withColumns(cols) });
}

/** imported are the queries {name, link} of the text of a file. It throws an error that says what is wrong. */
export function imported(text, state) {
  if (text.length > maxFile) throw new Error('the file is larger than 1 MB');
  let queries;
  try {
    ({ queries } = JSON.parse(text));
  } catch {
    throw new Error('the file is not JSON; Export writes such a file');
  }
  if (!Array.isArray(queries)) throw new Error('the file has no list "queries"; Export writes such a file');
  const isText = (value) => typeof value === 'string' && value.trim() !== '';
  const bad = queries.findIndex((one) => !one || !isText(one.name) || !isText(one.query) || (one.columns && !Array.isArray(one.columns)) || (one.link && !isQuery(one)));
  if (bad >= 0) throw new Error(`query ${bad + 1} of the file has no name or no query, or a wrong column or link`);
  return queries.map((one) => ({ name: one.name.trim().slice(0, 100), link: linkOfShared(one, state) }));
}
