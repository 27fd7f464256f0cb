// Statistics without LogQL: the query and the command that they are have the same numbers.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test from 'node:test';
import { promisify } from 'node:util';
import { browse, checkAccessibility, listed, newStore, open, random, serve, ship, shots, textOf, textsOf, until } from './lib.mjs';
import { statsCommand } from '../../serve/page/static/command.js';
import { commandName } from '../../serve/page/static/fields.js';
import { buildQuery, functions, isOfField, readQuery } from '../../serve/page/static/statsquery.js';

const run = promisify(execFile);
const minute = 6e4;
const logs = '{service_name="shop", level=~"error|info"} |= "x" | json | status >= 500';

test('a query of statistics is read as it was built', () => {
  for (const [what] of functions) {
    for (const by of [[], ['path'], ['level', 'path']]) {
      for (const top of [0, 5]) {
        const choice = { query: logs, what, field: isOfField(what) ? 'took_ms' : '', by, window: 9e4, top: by.length ? top : 0 };
        const query = buildQuery(choice);
        assert.deepEqual(readQuery(query), choice, query);
      }
    }
  }
  for (const other of ['{a="b"}', 'vector(1)', 'rate({a="b"}[5m])', 'sum(rate({a="b"}[5m])) / 2', 'sum by (a) (rate({a="b"}[5m] offset 1h))', 'sum(count_over_time({a="b"} | unwrap x [5m]))', 'sum(sum_over_time({a="b"} | json [5m]))', 'avg_over_time({a="b"} | unwrap duration(x) [5m]) by (y)'])
    assert.equal(readQuery(other), null, other);
});

test('commands of statistics', () => {
  const range = { from: Date.UTC(2026, 10, 20, 15), to: Date.UTC(2026, 10, 20, 16), step: minute };
  const of = (query, state = {}, more = {}) => statsCommand({ query, range, state: { from: 'now-1h', to: 'now', ...state }, ...more });
  const prefix = 'logq stats --from 2026-11-20T15:00:00Z --to 2026-11-20T16:00:00Z';
  assert.equal(of(`sum by (path) (count_over_time(${logs} [1m]))`), `${prefix} --utc -s shop -l error,info --substring --where 'float(status) >= 500' --by 1m,path --compute count -- x`);
  assert.equal(of('topk(3, sum by (service_name) (rate({service_name=~".+"} != "it\'s" |~ "a.b" [1h])))', { once: '1' }), `${prefix} --substring -x 'it'\\''s' -e a.b --by service --compute rate -n 3`);
  assert.equal(of('max_over_time({service_name="a"} | json | user!="ann" | unwrap http_ms [1h]) by ()', { once: '1' }, { nameOf: (name) => name.replace('_', '.'), relative: true }), `logq stats --since 1h -s a --where '(string(user) ?? "") != "ann"' --compute 'max(http.ms)'`);
  for (const [query, state] of [
    ['sum(count_over_time({service_name="a"} [5m]))'], // another step
    ['sum(count_over_time({pod="a"} [1m]))'], ['sum(count_over_time({service_name=~"a.*"} [1m]))'.replace('a.*', 'a(')], ['topk(3, sum by (a) (count_over_time({service_name="a"} [1m])))'],
    ['sum(count_over_time({service_name="a"} | line_format "x" |= "x" [1m]))'], ['sum(count_over_time({service_name="a"} | took > 5s [1m]))'], ['sum(count_over_time({service_name="a"} | a="b" or c="d" [1m]))'], ['sum(rate({a="b"}[1m])) * 2', { once: '1' }],
  ]) assert.equal(of(query, state) && !/matches/.test(of(query, state)), query.includes('a(') ? false : '', query);
  assert.equal(commandName([{ line: '{"http":{"status-code":1,"ms":2},"level":"x"}' }], 'http_status_code'), 'field("http.status-code")');
  assert.equal(commandName([{ line: '{"http":{"ms":2},"level":"x"}' }], 'http_ms'), 'http.ms');
  assert.equal(commandName([{ line: '{"level":"x"}' }], 'level_extracted'), 'field("level")');
  assert.equal(commandName([{ line: 'a.b=1' }], 'a_b'), 'a.b');
  assert.equal(commandName([{ line: 'x', fields: { a_b: '1' } }], 'a_b'), '');
});

/** records are 2,001 of each path, none at the start of a step: of so many, percentiles of both kinds are one of the values. */
function records(end) {
  const rnd = random(11);
  const all = [];
  for (const path of ['/buy', '/cart']) {
    for (let i = 0; i < 2001; i++) {
      const time = new Date(end - minute * (1 + Math.floor(rnd() * 20)) + 5e3 * Math.floor(rnd() * 12) + 1 + Math.floor(rnd() * 4998)).toISOString();
      all.push(JSON.stringify({ time, level: rnd() < 0.2 ? 'ERROR' : 'INFO', msg: 'x', http: { path, status: rnd() < 0.3 ? 503 : 200 }, took_ms: Math.round(rnd() * 1e5) / 100, user: rnd() < 0.1 ? undefined : `u${Math.floor(rnd() * 5)}` }));
    }
  }
  return all.sort((a, b) => (JSON.parse(a).time < JSON.parse(b).time ? -1 : 1));
}

test('the builder: its query and its command have the same numbers', { timeout: 480_000 }, async (t) => {
  const store = await newStore(t);
  const end = Math.floor((Date.now() - minute) / minute) * minute;
  await ship(store, 'shop', records(end).join('\n') + '\n');
  const server = await serve(t, store);
  const [from, to] = [end - 20 * minute, end].map((ms) => new Date(ms).toISOString());
  const page = await open(t, await browse(t), `${server.url}/#${new URLSearchParams({ q: '{service_name="shop"} |= "x" | json | http_status >= 200', from, to, tz: 'UTC' })}`);
  await listed(page, '4,002');
  const set = async (id, text) => {
    await page.$eval(id, (el) => el.select?.());
    await page.type(id, text);
    if (!text) await page.$eval(id, (el) => { el.value = ''; el.dispatchEvent(new Event('input', { bubbles: true })); });
  };
  const bin = process.env.LOGSTOW_BIN || new URL('../../bin', import.meta.url).pathname;
  /** numbers are the lines of CSV of a command, with rounded values, in order. */
  const numbers = async (command) => {
    const { stdout } = await run('sh', ['-c', command.replace(/^logq (\w+)/, 'logq $1 -o csv')], { env: { ...store.env, PATH: `${bin}:${process.env.PATH}` }, maxBuffer: 1 << 26 });
    return stdout.trimEnd().split('\n').slice(1);
  };
  let shown = false;
  for (const [what, field, by, once] of [
    ['count', '', 'http_path', false], ['rate', '', 'level', false], ['p99', 'took_ms', 'http_path', true], ['sum', 'took_ms', '', true], ['p50', 'took_ms', 'http_path', true], ['count', '', 'user, http_path', true], ['avg', 'took_ms', 'level, http_path', true], ['max', 'took_ms', 'http_path', false],
  ]) {
    await page.keyboard.press('Escape');
    await page.click('#statistics');
    await page.waitForSelector('#stats-what');
    await page.select('#stats-what', what);
    if (field) await set('#stats-field', field);
    await set('#stats-by', by);
    await page.click(once ? '#stats-once' : '#stats-steps');
    if (!shown) {
      shown = true;
      await checkAccessibility(page, 'statistics');
      await shots(page, 'statistics');
    }
    const [query, stats] = [await textOf(page, '#stats-query'), await textOf(page, '#stats-command')];
    assert.match(stats, /^logq stats /, query);
    await page.click('#stats-run');
    await until(page, (text) => document.querySelector('#query').value === text && document.querySelector('.metric tbody tr'), query);
    await page.click('#command');
    await page.waitForSelector('#command-0');
    const ql = await textOf(page, '#command-0');
    assert.ok((await textsOf(page, '.panel.command code')).includes(stats), 'the panel of commands has it, too');
    await page.keyboard.press('Escape');
    const round = (text) => Number(Number(text).toPrecision(9));
    // A point of LogQL is at the end of its window, a step of logq stats at its start.
    const start = (time) => new Date(Date.parse(time) - (once ? 0 : Number(/\[(\d+)([ms])\]/.exec(query)[1]) * (/\[\d+m\]/.test(query) ? minute : 1e3))).toISOString();
    const keys = by.split(',').map((one) => one.trim()).filter(Boolean);
    const { stdout } = await run('sh', ['-c', ql.replace('logq ql', 'logq ql -o json')], { env: { ...store.env, PATH: `${bin}:${process.env.PATH}` }, maxBuffer: 1 << 26 });
    const ofQL = stdout.trimEnd().split('\n').map((l) => JSON.parse(l)).map(({ time, labels, value }) => [...(once ? [] : [start(time)]), ...keys.map((key) => labels[key] || ''), round(value)].join(' '));
    const ofStats = (await numbers(stats)).map((l) => l.split(',')).filter((cells) => cells.at(-1) !== '' && cells.at(-1) !== '0')
      .map((cells) => [...(once ? [] : [new Date(cells[0]).toISOString()]), ...cells.slice(once ? 0 : 1, -1).map((one, i) => (keys[i] === 'level' ? one.toLowerCase() : one)), round(cells.at(-1))].join(' '));
    assert.deepEqual(ofStats.toSorted(), ofQL.toSorted(), `${query}\n${stats}`);
    assert.ok(ofQL.length >= (once ? 1 : 20), `${ofQL.length} numbers`);
  }
  await page.goto(`${server.url}/#${new URLSearchParams({ q: buildQuery({ query: '{service_name="shop"} | json', what: 'count', field: '', by: ['http_path', 'user'], window: 20 * minute, top: 7 }), from, to, tz: 'UTC', once: '1' })}`);
  await page.waitForSelector('.once-table tbody tr');
  assert.equal((await page.$$('.once-table tbody tr')).length, 7);
  await checkAccessibility(page, 'a table of values');
  await shots(page, 'once');
});
