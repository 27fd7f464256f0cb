// What a query found: records by pages, counts over time, the estimate of its cost. Views read it and subscribe to its changes.

import { ApiError, getJSON, loki, nanosOf, own, records, series } from './api.js';
import { countable, escapeRegexp, kind, logPart, quote, runsAs, selectorOf, streamLabels, withoutUnwrap, withParser } from './logql.js';
import { nanos, resolve } from './time.js';
import { fieldsOf, stageOf } from './fields.js';

/** maxLine is where the list cuts lines, in bytes; maxRecords is the number of records that it holds. */
export const maxLine = 16 << 10;
export const maxRecords = 200_000;

const firstPage = 500;
const nextPage = 5000;
const metricPage = 200;
const topValues = 8;

/** confirmAbove is the cost of a query, in dollars, above which it is not run before the user agrees. */
export const confirmAbove = 0.05;

const fresh = () => ({
  query: '', listed: '', kind: 'nothing', // listed is the log query of the records: the query, or that in a metric query range: null, order: 'newest', by: 'level',
  records: [], status: 'idle', error: null, more: false, // status: idle, loading, paging, done, error, confirm
  histogram: null, histogramError: null, // {series: [{name, points: Map}], service: Map, level: Map, total}
  labels: [], // names of labels of streams that are attributes
  result: null, // of a metric query
  recordsError: null, // why its records cannot be read
  version: 0,
});

/** createSearch makes the search of a page. */
export function createSearch() {
  const listeners = new Set();
  let current = fresh();
  let running = new AbortController();
  let agreed = ''; // the query whose cost was accepted
  let free = false; // the stores cost nothing

  const changed = () => {
    current.version++;
    listeners.forEach((f) => f());
  };
  const ignoreAbort = (err) => {
    if (err.name !== 'AbortError') throw err;
  };

  /** run answers the state's query anew. */
  async function run(state, { confirmed = false } = {}) {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    const mine = fresh();
    mine.query = runsAs(state);
    mine.kind = kind(state.q);
    mine.listed = withoutUnwrap(logPart(mine.query));
    mine.order = state.order;
    mine.by = state.by;
    mine.once = Boolean(state.once);
    const again = current.query === mine.query && current.kind === mine.kind;
    if (again) mine.records = current.records; // until there are others
    if (again) mine.labels = current.labels;
    if (again && current.by === mine.by) mine.histogram = current.histogram;
    mine.status = 'loading';
    current = mine;
    try {
      mine.range = resolve(state);
    } catch (err) {
      Object.assign(mine, { status: 'error', error: err, records: [] });
      changed();
      return;
    }
    changed();
    if (!confirmed && agreed !== mine.query && (await isExpensive(mine, signal))) {
      if (current === mine) {
        mine.status = 'confirm';
        changed();
      }
      return;
    }
    if (confirmed) agreed = mine.query;
    if (signal.aborted) return;
    if (mine.kind !== 'metric') listLabels(mine, signal);
    if (mine.kind === 'metric') {
      await runMetric(mine, signal);
      if (mine.listed && mine.status === 'done') await page(mine, metricPage, signal);
    } else if (mine.kind === 'nothing') await count(mine, signal);
    else {
      const first = page(mine, firstPage, signal);
      if (!isStreamLabel(mine.by)) await first; // its records have the parser that finds the field
      await Promise.all([first, count(mine, signal)]);
    }
  }

  /** isExpensive asks what a query may cost, unless the stores cost nothing or only metadata is read. */
  async function isExpensive(mine, signal) {
    if (free || mine.kind === 'nothing') return false;
    mine.estimate = await estimateOf(mine.query, mine.range, signal).catch(() => null); // the query itself reports what is wrong
    free = Boolean(mine.estimate?.free);
    return Boolean(mine.estimate) && mine.estimate.cost_usd > confirmAbove;
  }

  /** listLabels asks for the labels of the streams; without an answer there are none. */
  async function listLabels(mine, signal) {
    const names = await labelNames(selectorOf(mine.query), mine.range, signal).catch(() => []);
    mine.labels = names.filter((name) => !streamLabels.includes(name) && name !== 'detected_level');
    if (current === mine && !signal.aborted) changed();
  }

  const range = ({ from, to }) => ({ start: nanos(from), end: nanos(to) });

  /** page reads the next records: those at the time of the last one are read again and skipped. */
  async function page(mine, size, signal) {
    const backward = mine.order === 'newest';
    const first = mine.status !== 'paging';
    const known = first ? [] : mine.records;
    const params = { query: mine.listed, ...range(mine.range), direction: backward ? 'backward' : 'forward', max_line: maxLine, repeats: 1 };
    let skip = 0;
    if (known.length) {
      const last = nanosOf(known[known.length - 1]);
      for (let i = known.length - 1; i >= 0 && nanosOf(known[i]) === last; i--) skip++;
      if (backward) params.end = (last + 1n).toString();
      else params.start = last.toString();
    }
    params.limit = size + skip;
    let found = 0;
    const all = first ? [] : known;
    try {
      await records(params, signal, (batch) => {
        const repeated = Math.max(0, Math.min(batch.length, skip - found));
        found += batch.length;
        for (let i = repeated; i < batch.length; i++) all.push(batch[i]);
        if (current !== mine) return;
        mine.records = all;
        changed();
      });
      mine.records = all;
      mine.more = found === params.limit && all.length < maxRecords;
      mine.limited = found === params.limit && all.length >= maxRecords;
      mine.status = 'done';
    } catch (err) {
      if (err.name === 'AbortError') return;
      if (first) mine.records = all;
      if (mine.kind === 'metric') mine.recordsError = err;
      else Object.assign(mine, { status: 'error', error: err });
    }
    if (current === mine) changed();
  }

  /** count counts the records over time, by service and level, or by the field that the state names. */
  async function count(mine, signal) {
    try {
      const histogram = isStreamLabel(mine.by) ? await countStreams(mine, signal) : await countField(mine, signal);
      mine.histogram = histogram;
      mine.histogramError = null;
    } catch (err) {
      if (err.name === 'AbortError') return;
      mine.histogramError = err;
      mine.histogram = null;
    }
    if (mine.kind === 'nothing') mine.status = mine.histogramError ? 'error' : 'done';
    if (mine.kind === 'nothing') mine.error = mine.histogramError;
    if (current === mine) changed();
  }

  async function countStreams(mine, signal) {
    const of = (labels) => counts(mine, `sum by (${labels})`, countable(mine.query), signal);
    let result;
    try {
      result = await of('service_name, level');
    } catch (err) {
      if (!(err instanceof ApiError) || err.status !== 400 || !/series/.test(err.message)) throw err;
      result = await of(mine.by); // too many services to count each
    }
    return collect(result, mine.by);
  }

  const counts = (mine, aggregate, query, signal) => countBars(mine.range, aggregate, query, signal);

  async function countField(mine, signal) {
    const query = countable(withParser(mine.query, mine.by, parserOf(mine.records, mine.by)));
    const { from, to } = mine.range;
    const found = await series(
      'query',
      { query: `topk(${topValues}, sum by (${mine.by}) (count_over_time(${query} [${Math.round(to - from)}ms])))`, time: nanos(to) },
      signal,
    );
    const names = found.map((one) => one.metric[mine.by] || '').filter(Boolean);
    const expr = names.map(escapeRegexp).join('|');
    const [all, each] = await Promise.all([
      counts(mine, 'sum by (service_name, level)', countable(mine.query), signal),
      names.length ? counts(mine, `sum by (${mine.by})`, `${query} | ${mine.by}=~${quote(expr)}`, signal) : [],
    ]);
    const histogram = collect(all, 'level');
    const rest = new Map();
    for (const one of histogram.series) for (const [t, n] of one.points) rest.set(t, (rest.get(t) || 0) + n);
    for (const one of each) for (const [t, n] of one.points) rest.set(t, (rest.get(t) || 0) - n);
    histogram.series = each
      .map((one) => ({ name: one.labels[mine.by], points: new Map(one.points) }))
      .sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
    const others = new Map([...rest].filter(([, n]) => n > 0));
    if (others.size) histogram.series.push({ name: '', points: others });
    return histogram;
  }

  async function runMetric(mine, signal) {
    const { from, to, step } = mine.range;
    try {
      mine.result = mine.once
        ? await series('query', { query: mine.query, time: nanos(to) }, signal)
        : await series('query_range', { query: mine.query, start: nanos(from), end: nanos(to), step: `${step}ms` }, signal);
      mine.status = 'done';
    } catch (err) {
      if (err.name === 'AbortError') return;
      mine.status = 'error';
      mine.error = err;
    }
    if (current === mine) changed();
  }

  return {
    get: () => current,
    run: (state, options) => run(state, options).catch(ignoreAbort),
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
    /** more reads the next page. */
    more() {
      const mine = current;
      if (!mine.more || mine.status !== 'done') return;
      mine.status = 'paging';
      changed();
      page(mine, Math.min(nextPage, maxRecords - mine.records.length), running.signal).catch(ignoreAbort);
    },
    /** append adds records that came by themselves, the oldest first. */
    append(batch, most) {
      const { records: all } = current;
      for (const one of batch) all.push(one);
      if (all.length > most * 1.2) all.splice(0, all.length - most);
      changed();
    },
    /** clear begins an empty list, for what comes. */
    clear(state) {
      running.abort();
      current = Object.assign(fresh(), { query: runsAs(state), listed: runsAs(state), kind: kind(state.q), order: 'oldest', status: 'live', range: resolve(state) });
      changed();
    },
    stop() {
      running.abort();
      current.status = current.records.length ? 'done' : 'idle';
      changed();
    },
  };
}

/** countBars is a metric query over the bars of a range: the window of a point ends at its time. */
export async function countBars({ from, to, step }, aggregate, query, signal) {
  const [first, last] = [Math.floor(from / step) + 1, Math.ceil(to / step)];
  const result = await series(
    'query_range',
    { query: `${aggregate} (count_over_time(${query} [${step}ms]))`, start: nanos(first * step), end: nanos(last * step), step: `${step}ms` },
    signal,
  );
  return result.map((one) => ({ labels: one.metric, points: one.values.map(([t, v]) => [Math.round(t * 1e3) - step, Number(v)]) }));
}

const isStreamLabel = (name) => name === 'level' || name === 'service_name';

function collect(result, by) {
  const histogram = { series: [], service: new Map(), level: new Map(), total: 0 };
  const byName = new Map();
  for (const { labels, points } of result) {
    const name = labels[by] || (by === 'level' ? 'unknown' : '');
    if (!byName.has(name)) byName.set(name, new Map());
    const sums = byName.get(name);
    let sum = 0;
    for (const [t, n] of points) {
      sums.set(t, (sums.get(t) || 0) + n);
      sum += n;
    }
    histogram.total += sum;
    if (labels.service_name) histogram.service.set(labels.service_name, (histogram.service.get(labels.service_name) || 0) + sum);
    if (labels.level) histogram.level.set(labels.level, (histogram.level.get(labels.level) || 0) + sum);
  }
  histogram.parts = result;
  histogram.series = [...byName].map(([name, points]) => ({ name, points }));
  return histogram;
}

/** parserOf is the stage that finds a field in records. */
export function parserOf(all, name) {
  const record = all.slice(0, 1000).find((one) => name in fieldsOf(one).values);
  return record ? stageOf(record, name) : '';
}

/** estimateOf is what a query reads at most. */
export const estimateOf = (query, { from, to }, signal) => getJSON(own + 'estimate', { query, start: nanos(from), end: nanos(to) }, signal);

/** explainQuery asks why the state's query finds nothing or is invalid. */
export const explainQuery = (state, { from, to }, signal) =>
  getJSON(own + 'explain', { query: state.q, case: state.case, start: nanos(from), end: nanos(to) }, signal);

/** labelNames are the labels of the streams of a selector in a range. */
const labelNames = async (query, { from, to }, signal) => (await getJSON(`${loki}labels`, { query, start: nanos(from), end: nanos(to) }, signal)).data || [];

/** labelValues are the values of a label in a range. */
export const labelValues = async (name, { from, to }, signal) =>
  (await getJSON(`${loki}label/${encodeURIComponent(name)}/values`, { start: nanos(from), end: nanos(to) }, signal)).data || [];

/** countValues counts the values of a field over all records of a range. */
export async function countValues(query, name, parser, { from, to }, n, signal) {
  const parsed = countable(withParser(query, name, parser));
  const found = await series(
    'query',
    { query: `topk(${n}, sum by (${name}) (count_over_time(${parsed} [${Math.round(to - from)}ms])))`, time: nanos(to) },
    signal,
  );
  return found.filter((one) => one.metric[name]).map((one) => [one.metric[name], Number(one.value[1])]);
}
