// The modules that need no browser.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { random } from './lib.mjs';
import { command, shellQuote } from '../../serve/page/static/command.js';
import { at, complete } from '../../serve/page/static/complete.js';
import { fieldsOf, readable } from '../../serve/page/static/fields.js';
import { filter, filterOf, highlights, isWhole, kind, parse, print, quote, toLogQL } from '../../serve/page/static/logql.js';
import { toRecords } from '../../serve/page/static/live.js';
import { coloured, sortSeries } from '../../serve/page/static/levels.js';
import { shiftOf } from '../../serve/page/static/compare.js';
import { parseRange, relativeCommand } from '../../serve/page/static/range.js';
import { decode, defaults, encode } from '../../serve/page/static/state.js';
import { chooseStep, formatDuration, formatRange, formatTime, nanos, parseTime, resolve } from '../../serve/page/static/time.js';

test('words are line filters, LogQL stays', () => {
  const table = JSON.parse(readFileSync(new URL('../words.json', import.meta.url))); // that of the server's tests
  assert.ok(table.length > 5);
  for (const { text, query, case: matched = query } of table) {
    assert.equal(toLogQL(text), query, text);
    assert.equal(toLogQL(text, true), matched, text);
  }
  assert.equal(kind('sum by (a) (rate({}[1m]))'), 'metric');
});

test('series differ in colour, and keep it when their order changes', () => {
  const series = (...names) => names.map((name) => ({ name, points: new Map([[0, 1]]) }));
  const classes = (by, all) => new Map(coloured(by, all).map((one) => [one.name, one.colour]));
  const names = Array.from({ length: 8 }, (_, i) => `service-${i}`);
  const all = classes('service_name', series(...names));
  assert.equal(new Set(all.values()).size, 8);
  assert.deepEqual(new Map([...classes('service_name', series(...names.toReversed())).entries()].sort()), all);
  assert.equal(classes('service_name', series('service-0')).get('service-0'), all.get('service-0'));
  for (const i of [1, 5, 10, 100]) assert.equal(new Set(classes('x', series(...Array.from({ length: i }, (_, j) => `${i}/${j}`))).values()).size, Math.min(i, 8));
  assert.deepEqual(classes('status', series('200', '')).get(''), 'series-other');
  assert.deepEqual([...classes('level', series('error', 'none', '')).values()], ['level-error', 'level-unknown', 'level-unknown']);
  const many = sortSeries('service_name', series(...names, 'service-8'));
  assert.equal(new Set(coloured('service_name', many).map((one) => one.colour)).size, 9);
});

test('values are included, excluded, and removed', () => {
  let q = filter('', 'service_name', 'web', 'in');
  assert.equal(q, '{service_name="web"}');
  q = filter(q, 'service_name', 'a.b', 'in');
  assert.equal(q, '{service_name=~"web|a\\\\.b"}');
  assert.equal(filterOf(q, 'service_name', 'a.b'), 'in');
  q = filter(q, 'service_name', 'web', 'in');
  assert.equal(q, '{service_name="a.b"}');
  q = filter(q, 'service_name', 'a.b', 'in');
  assert.equal(q, '{service_name=~".+"}');
  q = filter(q, 'status', '500', 'out', 'json');
  assert.equal(q, '{service_name=~".+"} | json | status!="500"');
  assert.equal(filterOf(q, 'status', '500'), 'out');
  q = filter(q, 'status', '500', 'in', 'json');
  assert.equal(q, '{service_name=~".+"} | json | status="500"');
  assert.equal(filter('{service_name=~"w.*"}', 'service_name', 'web', 'out'), '{service_name=~"w.*", service_name!="web"}');
  assert.equal(filter('error', 'level', 'warn', 'out'), '{service_name=~".+", level!="warn"} |~ "(?i)error"');
});

test('random values survive filters: what is parsed is what was printed', () => {
  const seed = Number(process.env.SEED) || Date.now() % 1e9;
  const rnd = random(seed);
  const alphabet = ['a', '"', '\\', '`', '|', '}', '{', '=', '!', ' ', 'é', '.', '+', '\n', '='];
  const text = () => Array.from({ length: Math.floor(rnd() * 8) }, () => alphabet[Math.floor(rnd() * alphabet.length)]).join('');
  for (let i = 0; i < 3000; i++) {
    const [a, b] = [text(), text()];
    let q = filter(`{service_name="web"} |= ${quote(a)} != ${quote(b)}`, 'x', a, 'in', 'json');
    assert.deepEqual(parse(q).stages, [`|= ${quote(a)}`, `!= ${quote(b)}`, '| json', `| x=${quote(a)}`], q);
    assert.equal(print(parse(q)), q);
    assert.equal(filterOf(q, 'x', a), 'in');
    if (a !== b) {
      q = filter(q, 'x', b, 'in', 'json');
      assert.equal(filterOf(q, 'x', a), 'in', q);
      assert.equal(filterOf(q, 'x', b), 'in', q);
      q = filter(q, 'x', b, 'in', 'json');
    }
    q = filter(q, 'x', a, 'in', 'json');
    assert.equal(filterOf(q, 'x', a), '', q);
    assert.ok(isWhole(q), q);
    assert.equal(execution(shellQuote(a)), a);
  }
});

let asked = 0;
/** execution is what a shell makes of an argument: of some of them, for it takes time. */
const execution = (argument) => (asked++ % 100 ? unquoted(argument) : execFileSync('sh', ['-c', `printf %s ${argument}`]).toString());
const unquoted = (argument) => argument.replace(/'\\''|'/g, (q) => (q === "'" ? '' : "'"));

test('commands', () => {
  const range = { from: Date.UTC(2026, 10, 20, 15), to: Date.UTC(2026, 10, 20, 16), step: 30_000 };
  const state = { order: 'newest', from: 'now-1h', to: 'now' };
  assert.equal(command({ query: `{a="it's"}`, kind: 'log', range, state }), `logq ql --from 2026-11-20T15:00:00Z --to 2026-11-20T16:00:00Z --newest '{a="it'\\''s"}'`);
  assert.equal(command({ query: 'vector(1)', kind: 'metric', range, state, relative: true }), "logq ql --since 1h --step 30s 'vector(1)'");
});

test('times in zones, also where clocks change', () => {
  const now = Date.UTC(2026, 10, 20, 15, 4, 5);
  for (const [text, zone, want] of [
    ['now-1h30m', 'UTC', now - 54e5],
    ['2026-11-20 10:00', 'UTC', Date.UTC(2026, 10, 20, 10)],
    ['2026-07-01 10:00', 'Europe/Berlin', Date.UTC(2026, 6, 1, 8)],
    ['2026-03-29 03:30', 'Europe/Berlin', Date.UTC(2026, 2, 29, 1, 30)],
    ['2026-01-01T00:00:00.123Z', 'Asia/Kolkata', Date.UTC(2026, 0, 1, 0, 0, 0, 123)],
    ['2026-01-01 05:30+05:30', 'UTC', Date.UTC(2026, 0, 1)],
    ['10:00', 'Asia/Kolkata', Date.UTC(2026, 10, 20, 4, 30)],
    ['2026-02-30', 'UTC', NaN],
    ['soon', 'UTC', NaN],
  ]) {
    assert.equal(parseTime(text, now, zone), want, text);
    if (want === want && /^\d{4}.*\d$/.test(text) && !text.includes('+')) assert.equal(formatTime(want, zone).slice(0, 16), text.slice(0, 16));
  }
  assert.deepEqual(resolve({ from: 'now-1h', to: 'now', tz: 'UTC' }, now), { from: Date.UTC(2026, 10, 20, 14, 4), to: Date.UTC(2026, 10, 20, 15, 4, 30), step: 30_000 });
  assert.equal(chooseStep(864e5, 120), 9e5);
  assert.equal(formatDuration(5_430_000), '1h30m30s');
  assert.equal(nanos(1.5), '1500000');
});

test('ranges as they are typed', () => {
  const now = Date.UTC(2026, 10, 20, 15, 4, 5); // a Friday
  const read = (text, zone = 'UTC') => {
    const range = parseRange(text, now, zone);
    return range && [parseTime(range.from, now, zone), parseTime(range.to, now, zone)].map((ms) => new Date(ms).toISOString().slice(0, 16));
  };
  const ago = (ms) => new Date(now - ms).toISOString().slice(0, 16);
  for (const [text, want, zone] of [
    ['last 15m', [ago(9e5), ago(0)]], ['2h', [ago(72e5), ago(0)]], ['Last 2 hours', [ago(72e5), ago(0)]], ['last hour', [ago(36e5), ago(0)]], ['-2h', [ago(72e5), ago(0)]], ['1h30m', [ago(54e5), ago(0)]],
    ['now-2h', [ago(72e5), ago(0)]], ['2 hours ago', [ago(72e5), ago(0)]], ['2h ago to 1h ago', [ago(72e5), ago(36e5)]], ['-2h to -1h', [ago(72e5), ago(36e5)]],
    ['today', ['2026-11-20T00:00', ago(0)]], ['yesterday', ['2026-11-19T00:00', '2026-11-20T00:00']], ['this week', ['2026-11-16T00:00', ago(0)]], ['last week', ['2026-11-09T00:00', '2026-11-16T00:00']],
    ['this month', ['2026-11-01T00:00', ago(0)]], ['last month', ['2026-10-01T00:00', '2026-11-01T00:00']], ['-1d/d', ['2026-11-19T00:00', ago(0)]], ['now-1d/d to now/d', ['2026-11-19T00:00', '2026-11-20T00:00']],
    ['now/h', ['2026-11-20T15:00', ago(0)]], ['2026-11-18', ['2026-11-18T00:00', '2026-11-19T00:00']], ['10:00 to 11:30', ['2026-11-20T10:00', '2026-11-20T11:30']], ['10:00 - 11:30', ['2026-11-20T10:00', '2026-11-20T11:30']],
    ['2026-11-18 10:00 to 11:30', ['2026-11-18T10:00', '2026-11-18T11:30']], ['2026-11-18 10:00 to 2026-11-19 11:00', ['2026-11-18T10:00', '2026-11-19T11:00']], ['yesterday 10:00 to today', ['2026-11-19T10:00', '2026-11-20T00:00']],
    ['2026-11-18T10:00:00Z..2026-11-18T10:05:00Z', ['2026-11-18T10:00', '2026-11-18T10:05']], ['today', ['2026-11-19T18:30', ago(0)], 'Asia/Kolkata'], ['10:00 to 11:00', ['2026-11-20T04:30', '2026-11-20T05:30'], 'Asia/Kolkata'],
    ['soon', null], ['', null], ['last', null], ['11:00 to 10:00', null], ['2026-13-01', null], ['-1d/x', null], ['last year', null],
  ]) assert.deepEqual(read(text, zone), want, `${text} ${zone}`);
  // A day of 25 hours, in its last one.
  const late = Date.UTC(2026, 9, 25, 22, 30);
  assert.equal(new Date(parseTime('now-1d/d', late, 'Europe/Berlin')).toISOString(), '2026-10-23T22:00:00.000Z');
  assert.equal(new Date(parseTime('now/d', late, 'Europe/Berlin')).toISOString(), '2026-10-24T22:00:00.000Z');
  assert.deepEqual(resolve({ from: 'now-1d/d', to: 'now/d', tz: 'Asia/Kolkata' }, now), { from: Date.UTC(2026, 10, 18, 18, 30), to: Date.UTC(2026, 10, 19, 18, 30), step: 9e5 });
  assert.equal(formatRange('now-1d/d', 'now/d', 'UTC'), 'Yesterday');
  assert.deepEqual(relativeCommand({ from: 'now-90m', to: 'now' }), ['--since', '90m']);
  assert.deepEqual(relativeCommand({ from: 'now/d', to: 'now' }), ['--since', 'today']);
  assert.deepEqual(relativeCommand({ from: 'now/w', to: 'now' }), []);
});

test('comparisons begin at a bar', () => {
  const range = { from: 0, to: 36e5, step: 3e4 };
  assert.deepEqual(['', 'period', 'day', 'week'].map((one) => shiftOf(one, range)), [0, 36e5, 864e5, 6048e5]);
  assert.equal(shiftOf('period', { from: 5, to: 36e5, step: 3e4 }), 36e5);
  assert.equal(shiftOf('day', { from: 0, to: 6048e7, step: 6048e5 }), 6048e5);
});

test('the fragment has the whole state', () => {
  const state = { ...defaults, q: '{a="ü&=#"}\n|= "x"', cols: 'a%2Cb,c', tz: 'Asia/Kolkata', live: '1', q2: '{c="d"}', split: 'stack', compare: 'day', once: '1', from: 'now-1d/d', to: 'now/d' };
  assert.deepEqual(decode(encode(state)), state);
  assert.equal(encode(defaults), '#');
  assert.equal(decode('#tz=No/Zone&nonsense=1').tz, 'local');
});

test('fields are named as in LogQL, and readable', () => {
  assert.deepEqual({ ...fieldsOf({ line: 'a=b c', fields: {} }).values }, { a: 'b' });
  assert.deepEqual({ ...fieldsOf({ line: '"GET /?a=b" c=d', fields: { path: '/' }, text: true }).values }, { path: '/' });
  assert.deepEqual({ ...fieldsOf({ line: 'c=d', fields: { trace_id: '1' } }).values }, { trace_id: '1', c: 'd' });
  const line = '{"time":"t","level":"INFO","msg":"hi there","a.b":{"c d":1},"list":[1],"none":null,"e":""}';
  assert.deepEqual({ ...fieldsOf({ line }).values }, { time: 't', level_extracted: 'INFO', msg: 'hi there', a_b_c_d: '1', e: '' });
  assert.equal(readable({ line }), 'hi there a_b_c_d=1');
  assert.deepEqual({ ...fieldsOf({ line: 'x=1 y="a \\"b\\"" http://h?q=2 z=' }).values }, { x: '1', y: 'a "b"' });
});

test('records of a live tail have the fields of those of the list', () => {
  const stream = { service_name: 'shop', level: 'info', instance: 'a' };
  const [attributes, access] = toRecords({ streams: [{ stream, values: [['1795187045000000000', 'took=5', { structuredMetadata: { detected_level: 'info', source: 's', user: 'ann' } }], ['1795187045000000001', '"GET /?a=b" c=d', { structuredMetadata: { path: '/' }, text: true }]] }] });
  assert.deepEqual([{ ...fieldsOf(attributes).values }, attributes.source, attributes.time], [{ user: 'ann', took: '5' }, 's', '2026-11-20T15:04:05.000000000Z']);
  assert.deepEqual({ ...fieldsOf(access).values }, { path: '/' });
});

test('completion finds where the cursor is', async () => {
  assert.equal(at('{serv', 5).in, 'label');
  assert.equal(at('{a="', 4).in, 'value');
  assert.equal(at('{a="b"} | js', 12).in, 'stage');
  assert.equal(at('sum by (le', 10).in, 'grouping');
  assert.equal(at('{a="b"} |= "x', 13).in, 'string');
  const from = { values: async () => ['shop', 'mail'], fields: new Map([['path', ['/a']]]) };
  assert.deepEqual((await complete('{service_name="s', 16, from)).map((o) => o.insert), ['shop']);
  assert.deepEqual((await complete('{a="b"} | json | pat', 20, from)).map((o) => o.insert), ['pattern "<_>"', 'path=""']);
  assert.deepEqual((await complete('rat', 3, from)).map((o) => o.insert), ['rate(']);
});

test('what line filters look for is highlighted', () => {
  assert.deepEqual(highlights('{a="b"} |= "x.y" != "z" |~ "(?i)q+"').map(String), ['/x\\.y/g', '/q+/gi']);
});
