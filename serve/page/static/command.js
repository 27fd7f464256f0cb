// The query of the page as command lines of logq.

import { alternatives, canonical, condition, parse, streamLabels, unquote } from './logql.js';
import { relativeCommand } from './range.js';
import { readQuery } from './statsquery.js';
import { rfc3339, formatDuration } from './time.js';

/** shellQuote quotes an argument for a POSIX shell. */
export const shellQuote = (text) => (/^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

const line = (args) => args.map(shellQuote).join(' ');

/** rangeOf are the arguments of a range: of one that moves with the clock, if relative is set and the state has one. */
function rangeOf(range, state, relative) {
  const moving = relative ? relativeCommand(state) : [];
  return moving.length ? moving : ['--from', rfc3339(range.from), '--to', rfc3339(range.to)];
}

/** command is the logq command that answers the same. relative uses a range that moves with the clock where the state has one. */
export function command({ query, kind, range, state, limit = 0, relative = false }) {
  const args = ['logq', 'ql', ...rangeOf(range, state, relative)];
  if (kind !== 'metric') {
    if (state.order === 'newest') args.push('--newest');
    if (limit) args.push('-n', String(limit));
  } else if (!state.once) args.push('--step', formatDuration(range.step));
  return line([...args, query]);
}

const anchored = (expr) => JSON.stringify(`^(?:${expr})$`);

/** compared is a condition of --where on the text of a field, which is empty if the field is missing, as in LogQL. */
function compared(text, op, value) {
  switch (op) {
    case '=':
      return `${text} == ${JSON.stringify(value)}`;
    case '!=':
      return `${text} != ${JSON.stringify(value)}`;
    case '=~':
      return `${text} matches ${anchored(value)}`;
    default:
      return `not (${text} matches ${anchored(value)})`;
  }
}

/** matcherOf are the arguments of a matcher of the selector; null if logq stats has none. */
function matcherOf({ name, op, value }) {
  const label = canonical(name);
  if (!streamLabels.includes(label)) return null;
  const own = label === 'service_name' ? 'service' : label;
  const values = op === '=' ? [value] : op === '=~' ? alternatives(value) : [];
  if (op === '=~' && /^\.[+*]$/.test(value)) return [];
  if (own === 'service' && values.length && values.every((one) => /^[\w.@:-]+$/.test(one))) return values.flatMap((one) => ['-s', one]);
  if (own === 'level') {
    if (values.length) return ['-l', values.map((one) => (one === 'unknown' ? '-' : one)).join(',')];
    if (op === '!=' && value !== 'unknown') return ['--where', `level != ${JSON.stringify(value)}`];
    return null;
  }
  return ['--where', compared(own, op, value)];
}

/** stageOf are the arguments of a stage; null if logq stats has none. nameOf is the name of a field in logq. */
function stageOf(stage, nameOf) {
  if (/^\|\s*(json|logfmt)$/.test(stage)) return [];
  const text = /^(\|=|!=|\|~)\s*("(?:[^"\\]|\\.)*"|`[^`]*`)$/.exec(stage);
  if (text) {
    const value = unquote(text[2]);
    if (!value) return null;
    if (text[1] === '|~') return ['-e', value];
    return text[1] === '!=' ? ['--substring', '-x', value] : ['--substring', '', value];
  }
  const number = /^\|\s*([A-Za-z_]\w*)\s*(==|=|!=|>=|<=|>|<)\s*(-?\d+(?:\.\d+)?)$/.exec(stage);
  const string = condition(stage);
  const name = nameOf((number || [])[1] || string?.name || '');
  if (!name) return null;
  if (number) return number[2] === '!=' ? null : ['--where', `float(${name}) ${number[2] === '=' ? '==' : number[2]} ${number[3]}`];
  return ['--where', compared(string.op === '=' && string.value ? `string(${name})` : `(string(${name}) ?? "")`, string.op, string.value)];
}

const fixed = { service_name: 'service', service: 'service', level: 'level', detected_level: 'level', instance: 'instance', source: 'source' };

/**
 * statsCommand is the logq stats command with the numbers of a metric query, or "" if there is none. nameOf is the name in logq of a field that
 * LogQL has as a label; "" if it is not known. Percentiles differ: logq stats takes the value at the rank, LogQL one between two.
 */
export function statsCommand({ query, range, state, nameOf = (name) => name, relative = false }) {
  const read = readQuery(query);
  const weeks = !state.once && range.step % 6048e5 === 0; // those of logq begin on Mondays
  if (weeks || !read || (!state.once && (read.window !== range.step || read.top))) return '';
  const { matchers, stages } = parse(read.query);
  const ofStage = (name) => (name in fixed || streamLabels.includes(name) ? '' : nameOf(name));
  const parts = [...matchers.map(matcherOf), ...stages.map((stage) => stageOf(stage, ofStage))];
  const by = read.by.map((name) => fixed[name] || nameOf(name));
  const field = read.field && nameOf(read.field);
  if (parts.includes(null) || by.includes('') || (read.field && !field)) return '';
  // Steps of LogQL are counted in UTC.
  const [from, utc] = state.once ? [range.to - read.window, []] : [range.from, ['--utc']];
  const args = ['logq', 'stats', ...rangeOf({ ...range, from }, state, relative && from === range.from && (state.once || !state.from.includes('/'))), ...utc];
  const patterns = [];
  for (const part of parts) {
    const [first, flag, value] = part;
    if (first !== '--substring') args.push(...part);
    else {
      if (!args.includes(first)) args.push(first);
      if (flag) args.push(flag, value);
      else patterns.push(value);
    }
  }
  const keys = [...(state.once ? [] : [formatDuration(range.step)]), ...by];
  if (keys.length) args.push('--by', keys.join(','));
  args.push('--compute', field ? `${read.what}(${field})` : read.what);
  if (read.top) args.push('-n', String(read.top));
  if (patterns.length) args.push('--', ...patterns);
  return line(args);
}
