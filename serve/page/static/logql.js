// LogQL as the page edits it: enough of its grammar to find the selector, the stages and their strings. The server parses it.

const metricStart =
  /^\(*\s*(sum|avg|min|max|count|stddev|stdvar|topk|bottomk|sort|sort_desc|rate|rate_counter|count_over_time|bytes_rate|bytes_over_time|absent_over_time|(?:sum|avg|min|max|first|last|stddev|stdvar|quantile)_over_time|vector|label_replace)\s*(\(|by\b|without\b)/;

/** streamLabels are matched in the selector, other names by label filters behind a parser. */
export const streamLabels = ['service_name', 'level', 'instance', 'source'];

/** inSelector is the stage, as of parsers, that finds a label of streams: its filter belongs to the selector. */
export const inSelector = 'selector';

/** everything is the selector of all records. */
export const everything = '{service_name=~".+"}';

/** kind is what a text is: nothing, words, log or metric. */
export function kind(text) {
  const t = text.trim();
  if (!t) return 'nothing';
  if (t.startsWith('{') || /^(\||!=|!~|!>)/.test(t)) return 'log';
  return metricStart.test(t) ? 'metric' : 'words';
}

/** quote is a string of LogQL. */
export const quote = (text) => JSON.stringify(text);

/**
 * toLogQL is what runs for a text of the query bar. Words are line filters: "several words" is one, -word excludes. Their case matters if
 * matchCase is set. The server reads texts in the same way.
 */
export function toLogQL(text, matchCase = false) {
  const t = text.trim();
  switch (kind(t)) {
    case 'nothing':
      return everything;
    case 'words':
      return everything + wordFilters(t, matchCase);
    case 'log':
      return t.startsWith('{') ? t : `${everything} ${t}`;
    default:
      return t;
  }
}

/** runsAs is what runs for a state. */
export const runsAs = (state) => toLogQL(state.q, state.case === '1');

function wordFilters(text, matchCase) {
  let filters = '';
  for (const m of text.matchAll(/(-?)(?:"((?:[^"\\]|\\.)*)"?|(\S+))/g)) {
    const word = m[2] === undefined ? m[3] : m[2].replace(/\\(.)/g, '$1');
    if (word && matchCase) filters += ` ${m[1] ? '!=' : '|='} ${quote(word)}`;
    else if (word) filters += ` ${m[1] ? '!~' : '|~'} ${quote(`(?i)${escapeRegexp(word)}`)}`;
  }
  return filters;
}

/** isWhole reports whether a text may be a whole query: strings and brackets end, and nothing is missing behind an operator. */
export function isWhole(text) {
  const open = [];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"' || c === '`') {
      const end = skipString(text, i);
      if (end < i + 2 || text[end - 1] !== c) return false;
      i = end - 1;
    } else if ('{(['.includes(c)) open.push(c);
    else if ('})]'.includes(c) && '{(['['})]'.indexOf(c)] !== open.pop()) return false;
  }
  return !open.length && !/[|=~!<>,+*/-]\s*$/.test(text);
}

/** skipString is the index behind the string that begins at i. */
export function skipString(text, i) {
  const end = text[i];
  for (i++; i < text.length && text[i] !== end; i++) if (text[i] === '\\' && end === '"') i++;
  return Math.min(i + 1, text.length);
}

/** unquote is the value of a string of LogQL. */
export function unquote(text) {
  if (text[0] === '`') return text.slice(1, -1);
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1).replace(/\\(.)/g, '$1');
  }
}

/** logPart is the first log query in a metric query, and a log query itself; "" if there is none. */
export function logPart(query) {
  if (kind(query) !== 'metric') return query;
  let start = -1;
  for (let i = 0; i < query.length; i++) {
    if (query[i] === '"' || query[i] === '`') i = skipString(query, i) - 1;
    else if (query[i] === '{' && start < 0) start = i;
    else if (start >= 0 && query[i] === '[') return query.slice(start, i).trim();
  }
  return '';
}

/** withoutUnwrap is a log query without what only metric queries have. */
export function withoutUnwrap(query) {
  const parsed = query.startsWith('{') ? parse(query) : null;
  return parsed?.stages.some((stage) => /^\|\s*unwrap\b/.test(stage)) ? print({ ...parsed, stages: parsed.stages.filter((stage) => !/^\|\s*unwrap\b/.test(stage)) }) : query;
}

/** parse splits a log query: its matchers, and its stages as texts that begin with their operator. */
export function parse(query) {
  const parsed = { matchers: [], stages: [] };
  let i = query.indexOf('{') + 1;
  for (; i < query.length && query[i] !== '}'; i++) {
    const m = /^\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*/.exec(query.slice(i));
    if (!m) continue;
    i += m[0].length;
    const end = skipString(query, i);
    parsed.matchers.push({ name: m[1], op: m[2], value: unquote(query.slice(i, end)) });
    i = end - 1;
  }
  let start = ++i;
  for (; i < query.length; i++) {
    if (query[i] === '"' || query[i] === '`') i = skipString(query, i) - 1;
    else if (i > start && (query[i] === '|' || isLineFilter(query, i))) {
      parsed.stages.push(query.slice(start, i).trim());
      start = i;
      i++;
    }
  }
  parsed.stages.push(query.slice(start).trim());
  parsed.stages = parsed.stages.filter(Boolean);
  return parsed;
}

/** isLineFilter reports whether != or !~ at i is a line filter: no label stands before it. */
const isLineFilter = (query, i) => /^![=~>]/.test(query.slice(i)) && /["`}]\s*$/.test(query.slice(0, i)) && /^..\s*["`]/.test(query.slice(i));

/** print is the text of a parsed query. */
export function print({ matchers, stages }) {
  const selector = matchers.map(({ name, op, value }) => `${name}${op}${quote(value)}`).join(', ');
  return [`{${selector}}`, ...stages].join(' ');
}

/** escapeRegexp is a regular expression that matches a text alone. */
export const escapeRegexp = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** alternatives are the texts that a regular expression of plain alternatives matches; none if it is another one. */
export function alternatives(expr) {
  const all = [''];
  for (let i = 0; i < expr.length; i++) {
    if (expr[i] === '|') all.push('');
    else if (/[\^$.*+?()[\]{}]/.test(expr[i]) || (expr[i] === '\\' && /\w|^$/.test(expr[i + 1] || ''))) return [];
    else all[all.length - 1] += expr[i] === '\\' ? expr[++i] : expr[i];
  }
  return all;
}

/** canonical is the name of a label that has two. */
export const canonical = (name) => ({ service: 'service_name', detected_level: 'level' })[name] || name;

/** condition reads a stage that is a filter of one label. */
export function condition(stage) {
  const m = /^\|\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|`[^`]*`)$/.exec(stage);
  return m ? { name: m[1], op: m[2], value: unquote(m[3]) } : null;
}

/** stated are the conditions of a query on a label, each with what replaces it. */
function stated(parsed, name) {
  const found = parsed.matchers.filter((m) => canonical(m.name) === name);
  if (!streamLabels.includes(name)) for (const stage of parsed.stages) if (condition(stage)?.name === name) found.push(condition(stage));
  return found;
}

/** filterOf is how a query treats a value of a label: "in", "out" or "". */
export function filterOf(text, name, value) {
  const query = logPart(text);
  if (kind(query) !== 'log') return '';
  for (const c of stated(parse(toLogQL(query)), name)) {
    if (c.op === '=' && c.value === value) return 'in';
    if (c.op === '=~' && alternatives(c.value).includes(value)) return 'in';
    if (c.op === '!=' && c.value === value) return 'out';
  }
  return '';
}

/** filter changes a query so that a value of a label is included or excluded, or, if it is already, not mentioned. */
export function filter(text, name, value, mode, parser) {
  if (kind(text) === 'metric') {
    const part = logPart(text);
    return part ? text.replaceAll(part, () => filter(part, name, value, mode, parser)) : text;
  }
  const parsed = parse(toLogQL(text));
  const before = filterOf(toLogQL(text), name, value);
  const all = stated(parsed, name);
  const excluded = all.filter((c) => c.op === '!=' && c.value !== value);
  const included = new Set(
    all.flatMap((c) => (c.op === '=' ? [c.value] : c.op === '=~' ? alternatives(c.value) : [])),
  );
  const others = all.filter((c) => c.op === '!~' || (c.op === '=~' && !alternatives(c.value).length && c.value !== '.+'));
  included.delete(value);
  if (before !== mode) {
    if (mode === 'in') included.add(value);
    else excluded.push({ name, op: '!=', value });
  }
  const values = [...included];
  const next = [...others, ...excluded.map(({ op, value: v }) => ({ name, op, value: v }))];
  if (values.length === 1) next.unshift({ name, op: '=', value: values[0] });
  if (values.length > 1) next.unshift({ name, op: '=~', value: values.map(escapeRegexp).join('|') });
  const selects = streamLabels.includes(name) || parser === inSelector || parsed.matchers.some((m) => canonical(m.name) === name);
  if (!streamLabels.includes(name)) setStages(parsed, name, selects ? [] : next, parser);
  if (selects) setMatchers(parsed, name, next);
  return print(parsed);
}

function setMatchers(parsed, name, next) {
  parsed.matchers = [...parsed.matchers.filter((m) => canonical(m.name) !== name && !(m.name === 'service_name' && m.value === '.+')), ...next];
  const selects = (m) => (m.op === '=' && m.value) || (m.op === '=~' && m.value);
  if (!parsed.matchers.some(selects)) parsed.matchers.unshift({ name: 'service_name', op: '=~', value: '.+' });
  const rank = ({ name: one }) => streamLabels.indexOf(canonical(one)) >>> 0; // others are last
  parsed.matchers.sort((a, b) => rank(a) - rank(b));
}

function setStages(parsed, name, next, parser) {
  parsed.stages = parsed.stages.filter((stage) => condition(stage)?.name !== name);
  if (next.length && parser && !hasParser(parsed, parser)) parsed.stages.push(`| ${parser}`);
  for (const { op, value } of next) parsed.stages.push(`| ${name}${op}${quote(value)}`);
}

/** hasParser reports whether a query parses messages; which is json, logfmt, or nothing for any. */
export function hasParser(parsed, which) {
  return parsed.stages.some((stage) => {
    const m = /^\|\s*(json|logfmt|pattern|regexp|unpack)\b/.exec(stage);
    return m && (!which || m[1] === which);
  });
}

/** countable is a log query whose records can be counted: those that a parser cannot read are counted too. */
export function countable(query) {
  return hasParser(parse(query)) ? `${query} | drop __error__, __error_details__` : query;
}

/** withParser adds a parser, if the query needs one for a field. */
export function withParser(query, name, parser) {
  if (!parser || parser === inSelector || streamLabels.includes(name) || hasParser(parse(query), parser)) return query;
  return `${query} | ${parser}`;
}

/** withStage appends a stage. */
export const withStage = (text, stage) => print({ ...parse(toLogQL(text)), stages: [...parse(toLogQL(text)).stages, stage] });

/** selectorOf is the selector of a log query alone. */
export const selectorOf = (query) => print({ matchers: parse(query).matchers, stages: [] });

/** highlights are regular expressions of what the line filters of a query look for. */
export function highlights(query) {
  const found = [];
  for (const stage of kind(query) === 'metric' ? [] : parse(toLogQL(query)).stages) {
    const m = /^\|(=|~)\s*/.exec(stage);
    for (const string of m ? stage.match(/"(?:[^"\\]|\\.)*"|`[^`]*`/g) || [] : []) {
      const value = unquote(string);
      try {
        const flags = value.startsWith('(?i)') ? 'gi' : 'g';
        if (value) found.push(m[1] === '=' ? new RegExp(escapeRegexp(value), 'g') : new RegExp(value.replace('(?i)', ''), flags));
      } catch {
        // An expression that only Go's syntax has is not highlighted.
      }
    }
  }
  return found;
}
