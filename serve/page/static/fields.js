// Fields of messages, named as LogQL's parsers json and logfmt name them, and those of access logs.

import { formatOf } from './formats.js';

const isName = /^[A-Za-z_][A-Za-z0-9_]*$/;
const nameOf = (text) => (isName.test(text) ? text : text.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_'));
const streamNames = new Set(['service_name', 'level', 'instance', 'detected_level', 'source']);
const labelOf = (name) => (streamNames.has(name) ? name + '_extracted' : name);
const maxParsed = 256 * 1024;

function addJSON(fields, prefix, object) {
  for (const [key, value] of Object.entries(object)) {
    const name = prefix ? `${prefix}_${nameOf(key)}` : nameOf(key);
    if (value === null || Array.isArray(value)) continue;
    if (typeof value === 'object') addJSON(fields, name, value);
    else if (!(labelOf(name) in fields)) fields[labelOf(name)] = String(value);
  }
}

const pair = /(?<![^\s="])([^\s=]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))/g;

function addLogfmt(fields, line) {
  for (const m of line.matchAll(pair)) {
    const key = m[1];
    if (!/^[A-Za-z_][\w.-]*$/.test(key)) continue;
    const value = m[2] === undefined ? m[3] : m[2].replace(/\\(.)/g, '$1');
    const name = labelOf(nameOf(key));
    if (value !== '' && !(name in fields)) fields[name] = value;
  }
}

/** fieldsOf are the fields of a record; parser is json or logfmt if that finds them in a query, format that of a text, pairs what is behind it. */
export function fieldsOf(record) {
  if (record.fields) return record.fields;
  const fields = Object.create(null);
  const pairs = new Set();
  let [parser, format] = ['', null];
  if (record.parsed) Object.assign(fields, record.parsed);
  if (record.line.length <= maxParsed && record.bytes === undefined) {
    const text = record.line.trimStart();
    if (text[0] === '{') {
      try {
        addJSON(fields, '', JSON.parse(text));
        parser = 'json';
      } catch {
        // Not JSON: it may have pairs.
      }
    }
    if (!parser) {
      format = formatOf(record.line);
      for (const [name, value] of format?.values || []) if (!(labelOf(name) in fields)) fields[labelOf(name)] = value;
      const before = new Set(Object.keys(fields));
      addLogfmt(fields, format ? format.rest : text);
      for (const name of Object.keys(fields)) if (!before.has(name)) pairs.add(name);
      if (pairs.size) parser = 'logfmt';
    }
  }
  record.fields = { parser, format, values: fields, pairs };
  return record.fields;
}

/** stageOf is the stage that finds a field of a record in a query; "" if the query has it. */
export function stageOf(record, name) {
  if (record.parsed && name in record.parsed) return '';
  const { parser, format, pairs } = fieldsOf(record);
  return format && !pairs.has(name) ? format.stage(name) : parser;
}

const messageNames = ['msg', 'message', 'event', 'log', 'text'];
const hidden = new Set(['time', 'timestamp', 'ts', 'level', 'level_extracted', 'severity', 'lvl', '@timestamp', '_timestamp']);

/** readable is a message of JSON as text and name=value, without the time and the level, which the list has in other columns. */
export function readable(record) {
  if (record.line[0] !== '{') return record.line;
  const { parser, values } = fieldsOf(record);
  if (parser !== 'json') return record.line;
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
