// Statistics as LogQL: the query of a choice of function, field and groups, and the choice that a query is.

import { countable, parse, print, withParser } from './logql.js';
import { formatDuration, parseDuration } from './time.js';

/** functions are those that can be chosen: a name and whether they are of a field. */
export const functions = [
  ['count', 'Count of records'], ['rate', 'Records per second'], ['p50', 'Median of', true], ['p90', '90th percentile of', true], ['p95', '95th percentile of', true],
  ['p99', '99th percentile of', true], ['avg', 'Average of', true], ['min', 'Minimum of', true], ['max', 'Maximum of', true], ['sum', 'Sum of', true],
];

/** isOfField reports whether a function is computed of a field. */
export const isOfField = (name) => Boolean(functions.find(([one]) => one === name)?.[2]);

/**
 * buildQuery is the LogQL of statistics of the records of a log query: a function, of a field if it is of one, by fields, in windows of so many ms;
 * top keeps the largest groups, 0 is all. parsers are the stages that find fields, by name.
 */
export function buildQuery({ query, what, field, by, window, top = 0, parsers = new Map() }) {
  let logs = query;
  for (const name of [...(isOfField(what) ? [field] : []), ...by]) logs = withParser(logs, name, parsers.get(name));
  const range = `[${formatDuration(window)}]`;
  const groups = by.join(', ');
  const numbers = `${logs} | unwrap ${field} | __error__="" ${range}`;
  const summed = (inner) => `sum${groups && ` by (${groups}) `}(${inner})`; // these have no by of their own
  let built;
  if (what === 'sum') built = summed(`sum_over_time(${numbers})`);
  else if (what[0] === 'p') built = `quantile_over_time(${Number(what.slice(1)) / 100}, ${numbers}) by (${groups})`;
  else if (isOfField(what)) built = `${what}_over_time(${numbers}) by (${groups})`;
  else built = summed(`${what === 'rate' ? 'rate' : 'count_over_time'}(${countable(logs)} ${range})`);
  return top && by.length ? `topk(${top}, ${built})` : built;
}

const names = (list) => list.split(',').map((one) => one.trim()).filter(Boolean);
const window = /^([\s\S]*)\[([0-9a-z.]+)\]$/;

/** readQuery is the choice that a metric query is, as buildQuery takes it; null if it is another one. Filters of the query stay in it. */
export function readQuery(text) {
  let rest = text.trim();
  let top = 0;
  const topk = /^topk\s*\(\s*(\d+)\s*,([\s\S]*)\)$/.exec(rest);
  if (topk) [top, rest] = [Number(topk[1]), topk[2].trim()];
  const sum = /^sum\s*(?:by\s*\(([\w\s,]*)\)\s*)?\(\s*(count_over_time|rate|sum_over_time)\s*\(([\s\S]*)\)\s*\)$/.exec(rest);
  const over = /^(avg|min|max|quantile)_over_time\s*\(([\s\S]*)\)\s*by\s*\(([\w\s,]*)\)$/.exec(rest);
  if (!sum && !over) return null;
  const by = names((sum ? sum[1] : over[3]) || '');
  let [what, inner] = sum ? [sum[2].replace('_over_time', ''), sum[3]] : [over[1], over[2]];
  if (what === 'quantile') {
    const quantile = /^\s*(0?\.\d+)\s*,([\s\S]*)$/.exec(inner);
    if (!quantile) return null;
    [what, inner] = [`p${Number((Number(quantile[1]) * 100).toFixed(6))}`, quantile[2]];
  }
  const found = window.exec(inner.trim());
  if (!found || !(parseDuration(found[2]) > 0) || !found[1].trim().startsWith('{')) return null;
  const parsed = parse(found[1].trim());
  const unwraps = parsed.stages.filter((stage) => /^\|\s*unwrap\b/.test(stage));
  const field = /^\|\s*unwrap\s+(\w+)$/.exec(unwraps[0] || '')?.[1] || '';
  if (unwraps.length !== (isOfField(what) || over ? 1 : 0) || (unwraps.length && !field)) return null;
  const own = /^\|\s*(?:unwrap\b|__error__\s*=\s*""$|drop\s+__error__)/;
  return { query: print({ ...parsed, stages: parsed.stages.filter((stage) => !own.test(stage)) }), what, field, by, window: parseDuration(found[2]), top };
}
