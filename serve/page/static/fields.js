// Fields of records: attributes and fields of text, which the server gives, and those that LogQL's parsers json and logfmt find.

import { levels } from './levels.js';
import { inSelector } from './logql.js';
import { cut } from './text.js';

const isName = /^[A-Za-z_][A-Za-z0-9_]*$/;
const nameOf = (text) => (isName.test(text) ? text : text.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_'));
const streamNames = new Set(['service_name', 'level', 'instance', 'detected_level', 'source']);
const labelOf = (name) => (streamNames.has(name) ? name + '_extracted' : name);
const maxParsed = 256 * 1024;
const maxLength = 16 << 20; // of JSON

function addJSON(fields, prefix, object) {
  for (const [key, value] of Object.entries(object)) {
    const name = prefix ? `${prefix}_${nameOf(key)}` : nameOf(key);
    if (value === null || Array.isArray(value)) continue;
    if (typeof value === 'object') addJSON(fields, name, value);
    else if (!(labelOf(name) in fields)) fields[labelOf(name)] = String(value);
  }
}

const pair = /(?<!\S)([A-Za-z_][\w.-]*)=(?:"((?:[^"\\]|\\.)*)"|([^\s="]*))(?!\S)/g;

function addLogfmt(fields, line) {
  for (const [, key, quoted, bare] of line.matchAll(pair)) {
    const value = quoted === undefined ? bare : quoted.replace(/\\(.)/g, '$1');
    const name = labelOf(nameOf(key));
    if (value !== '' && !(name in fields)) fields[name] = value;
  }
}

/** fieldsOf are the fields of a record; parser is json or logfmt if that finds those in a query that it does not have without. */
export function fieldsOf(record) {
  if (record.found) return record.found;
  const given = { ...record.parsed, ...record.fields, ...record.labels };
  const values = Object.assign(Object.create(null), given);
  let parser = '';
  if (record.line.length <= maxLength && record.bytes === undefined) {
    const text = record.line.trimStart();
    const before = Object.keys(values).length;
    if (text[0] === '{') {
      try {
        addJSON(values, '', JSON.parse(text));
        parser = 'json';
      } catch {
        // Not JSON: it may have pairs.
      }
    }
    if (!parser && !record.text && text.length <= maxParsed) { // pairs in text of a format are no fields
      addLogfmt(values, text);
      if (Object.keys(values).length > before) parser = 'logfmt';
    }
  }
  return (record.found = { parser, values, given });
}

const identifier = /(?<![\w-])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{12,64}|(?=[A-Z]*\d)(?=\d*[A-Z])[0-9A-Z]{26}|[a-z]{2,8}[-_](?=[a-z]*\d)[0-9a-z]{6,40})(?![\w-])/g;
const maxIdentifiers = 20;

/** identifiersOf are texts in a message that name one thing, such as a trace or an order, and are no values of fields: UUIDs, long hexadecimal numbers, ULIDs, req-8f3a2c. */
export function identifiersOf(record) {
  if (record.bytes !== undefined || fieldsOf(record).parser === 'json') return [];
  const values = new Set(Object.values(fieldsOf(record).values));
  const found = new Set();
  for (const [text] of cut(record.line, 65_536).matchAll(identifier)) {
    if (!values.has(text)) found.add(text);
    if (found.size === maxIdentifiers) break;
  }
  return [...found];
}

/** stageOf is the stage that finds a field of a record in a query; "" if it needs none, or that its filter belongs to the selector. */
export function stageOf(record, name) {
  if (record.labels && Object.hasOwn(record.labels, name)) return inSelector;
  const { parser, given } = fieldsOf(record);
  return Object.hasOwn(given, name) ? '' : parser;
}

const messageNames = ['msg', 'message', 'event', 'log', 'text'];
const hidden = new Set(['time', 'timestamp', 'ts', 'level', 'level_extracted', 'severity', 'lvl', '@timestamp', '_timestamp']);

/** readable is a message without the time and the level, which the list has in other columns; one of JSON as text and name=value. */
export function readable(record) {
  const text = record.line.slice(record.repeats || 0);
  if (record.line[0] !== '{') return text;
  const { parser, values } = fieldsOf(record);
  if (parser !== 'json') return text;
  const first = messageNames.find((name) => values[name]);
  const pairs = [];
  for (const name of Object.keys(values)) {
    if (name === first || hidden.has(name) || values[name] === '') continue;
    pairs.push(`${name}=${/[\s"=]/.test(values[name]) ? JSON.stringify(values[name]) : values[name]}`);
  }
  return [first ? values[first] : '', ...pairs].filter(Boolean).join(' ');
}

/** valueOf is a field of a record, or one of its labels; undefined if it is missing. */
export function valueOf(record, name) {
  switch (name) {
    case 'service_name':
      return record.service;
    case 'level':
    case 'instance':
    case 'source':
      return record[name] || undefined;
    default:
      return fieldsOf(record).values[name];
  }
}

const rank = (name, value) => (name === 'level' ? levels.indexOf(value) : value === '' ? NaN : Number(value));

/** sorted are records by a column, with - in front of its name for the largest first: numbers by size, levels by severity, and last those without it. */
export function sorted(records, column) {
  if (!column) return records;
  const name = column.replace(/^-/, '');
  const sign = column === name ? 1 : -1;
  const keyed = records.map((record) => {
    const value = valueOf(record, name);
    return { record, value, number: value === undefined ? NaN : rank(name, value) };
  });
  const order = (a, b) => {
    if (a.value === undefined || b.value === undefined) return (a.value === undefined) - (b.value === undefined);
    const [x, y] = [Number.isNaN(a.number), Number.isNaN(b.number)];
    if (x || y) return sign * (x - y || (a.value < b.value ? -1 : a.value > b.value ? 1 : 0));
    return sign * (a.number - b.number);
  };
  return keyed.sort(order).map((one) => one.record);
}

/** summarize counts the values of the fields of records: the fields in most records first. */
export function summarize(records) {
  const all = new Map();
  for (const record of records) {
    const { values } = fieldsOf(record);
    for (const name of Object.keys(values)) {
      let f = all.get(name);
      if (!f) all.set(name, (f = { name, parser: stageOf(record, name), records: 0, values: new Map() }));
      f.records++;
      f.values.set(values[name], (f.values.get(values[name]) || 0) + 1);
      if (!f.parser) f.parser = stageOf(record, name);
    }
  }
  return [...all.values()].sort((a, b) => b.records - a.records || (a.name < b.name ? -1 : 1));
}

/** top are the most frequent values of a count, as [value, number]. */
export const top = (counts, n) => [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, n);

/** pathOf is the path of a member of JSON whose label has a name; null if there is none. */
function pathOf(object, prefix, label) {
  for (const [key, value] of Object.entries(object)) {
    const name = prefix ? `${prefix}_${nameOf(key)}` : nameOf(key);
    if (value === null || Array.isArray(value)) continue;
    if (typeof value !== 'object') {
      if (labelOf(name) === label) return [key];
    } else {
      const path = pathOf(value, name, label);
      if (path) return [key, ...path];
    }
  }
  return null;
}

const own = new Set(['time', 'level', 'service', 'source', 'instance', 'message']);

/** commandName is the name in logq of a field that records have as a label: http.status of http_status; "" if it is not known. */
export function commandName(records, label) {
  const record = records.slice(0, 1000).find((one) => label in fieldsOf(one).values);
  if (!record) return label.includes('_') ? '' : label;
  const { parser } = fieldsOf(record);
  const isGiven = Object.hasOwn({ ...record.fields, ...record.labels }, label);
  if (isGiven) return label.includes('_') ? '' : label; // the name of an attribute may have a dot there
  let path = [label];
  try {
    if (parser === 'json') path = pathOf(JSON.parse(record.line), '', label) || path;
  } catch {
    return '';
  }
  if (parser === 'logfmt') {
    const found = [...record.line.matchAll(pair)].find(([, key]) => labelOf(nameOf(key)) === label);
    if (found) path = [found[1]];
  }
  const name = path.join('.');
  return /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/.test(name) && !own.has(name) ? name : `field(${JSON.stringify(name)})`;
}
