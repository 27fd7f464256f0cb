// Completion of LogQL: what can stand at the cursor. Labels and values come from the server, fields from the records found.

import { skipString, streamLabels } from './logql.js';

const stages = [
  ['json', 'fields of JSON'], ['logfmt', 'fields of name=value'], ['pattern "<_>"', 'fields by a template'], ['regexp "(?P<name>)"', 'fields by a regular expression'],
  ['unpack', ''], ['line_format "{{.field}}"', 'another line'], ['label_format new=old', 'rename'], ['keep field', ''], ['drop field', ''], ['decolorize', 'without ANSI colours'],
];
const filters = [
  ['|= ""', 'contains'], ['!= ""', 'does not contain'], ['|~ ""', 'matches a regular expression'], ['!~ ""', 'does not match'], ['|> "<_>"', 'has a pattern'], ['!> "<_>"', 'does not have it'],
];
const functions = [
  'count_over_time', 'rate', 'bytes_rate', 'bytes_over_time', 'absent_over_time', 'sum_over_time', 'avg_over_time', 'min_over_time', 'max_over_time', 'quantile_over_time',
  'first_over_time', 'last_over_time', 'stddev_over_time', 'sum', 'avg', 'min', 'max', 'count', 'topk', 'bottomk', 'sort', 'sort_desc', 'vector', 'label_replace',
];

const startsWith = (word) => (one) => one.insert.toLowerCase().startsWith(word.toLowerCase()) && one.insert !== word;

/** at finds where in a query the cursor is: {in, word, start, name, quote}. */
export function at(text, cursor) {
  const before = text.slice(0, cursor);
  let braces = 0;
  let string = -1;
  for (let i = 0; i < before.length; i++) {
    const c = before[i];
    if (c === '"' || c === '`') {
      const end = skipString(text, i);
      if (end > cursor || (end === cursor && before[end - 1] !== c) || end === i + 1) {
        string = i;
        break;
      }
      i = end - 1;
    } else if (c === '{') braces++;
    else if (c === '}') braces = Math.max(0, braces - 1);
  }
  if (string >= 0) {
    const name = /([A-Za-z_]\w*)\s*(?:=~|!~|!=|=)\s*$/.exec(before.slice(0, string))?.[1];
    return { in: name ? 'value' : 'string', word: before.slice(string + 1), start: string + 1, name, inSelector: braces > 0 };
  }
  const word = /[A-Za-z_]\w*$/.exec(before)?.[0] || '';
  const start = cursor - word.length;
  const ahead = before.slice(0, start).trimEnd();
  if (braces > 0) return { in: 'label', word, start };
  if (/\|$/.test(ahead)) return { in: 'stage', word, start };
  if (/\b(by|without)\s*\([^)]*$/.test(ahead)) return { in: 'grouping', word, start };
  if (/(\||\band|\bor|,)$/.test(ahead)) return { in: 'stage', word, start };
  if (/["`}]$/.test(ahead) && !word) return { in: 'operator', word, start };
  return { in: 'function', word, start };
}

/**
 * complete lists completions at the cursor: {insert, note, start, end, back, closes}: back is how far before its
 * end the cursor goes, closes that it goes behind the quote. values asks for the values of a label.
 */
export async function complete(text, cursor, { values, fields }) {
  const place = at(text, cursor);
  const span = { start: place.start, end: cursor };
  const plain = (list, note = '') => list.map((insert) => ({ insert, note, ...span }));
  const named = (list) => list.map(([insert, note]) => ({ insert, note, ...span, back: insert.endsWith('""') ? 1 : 0 }));
  switch (place.in) {
    case 'label':
      return plain(streamLabels, 'label').filter(startsWith(place.word)).map((one) => {
        const open = !text.slice(cursor).includes('}');
        return { ...one, insert: `${one.insert}=""${open ? '}' : ''}`, back: open ? 2 : 1 };
      });
    case 'value': {
      const known = place.inSelector || streamLabels.includes(place.name) ? await values(place.name) : fields.get(place.name) || [];
      return plain(known.map((v) => JSON.stringify(v).slice(1, -1))).filter((one) => one.insert.toLowerCase().includes(place.word.toLowerCase())).slice(0, 50).map((one) => ({ ...one, closes: true }));
    }
    case 'stage': {
      const own = [...fields.keys()].map((name) => ({ insert: `${name}=""`, note: 'field', ...span, back: 1 }));
      return [...named(stages), ...own].filter(startsWith(place.word)).slice(0, 50);
    }
    case 'grouping':
      return plain([...streamLabels, ...fields.keys()]).filter(startsWith(place.word)).slice(0, 50);
    case 'operator':
      return named([...filters, ['| json', 'fields of JSON'], ['| logfmt', 'fields of name=value'], ['| ', 'another stage']]).map((one) => ({ ...one, insert: (/\s$/.test(text.slice(0, cursor)) ? '' : ' ') + one.insert }));
    case 'function':
      if (place.word.length < 2 || (!/^\W*$/.test(text.slice(0, place.start)) && !/[(,+*/-]\s*$/.test(text.slice(0, place.start)))) return [];
      return functions.map((name) => ({ insert: `${name}(`, note: 'function', ...span })).filter(startsWith(place.word));
    default:
      return [];
  }
}
