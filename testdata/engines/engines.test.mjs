// DuckDB and ClickHouse read stores with the SQL of deploy/engines and docs/engines.md as logq does.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { blocksOf, clickhouse, command, duckdb, must, newStore, root, serveShipper, ship, viewsOf } from './lib.mjs';

const run = promisify(execFile);
const blocks = await blocksOf('docs/engines.md');
const check = await viewsOf('check.sql');
const views = { duckdb: await viewsOf('duckdb.sql'), clickhouse: await viewsOf('clickhouse.sql') };
const day = '2026-11-20';
const messages = [
  'plain',
  'tab\there, trailing tab\t',
  '"quoted" \'too\', "one more',
  'back\\slash \\n \\t \\x41 \\',
  'cr\rin the middle, two\r\r, and at the end\r',
  'nul \0 and control \x01\x02\x1b[31m',
  'ünïcode ☃ 😀',
  'Traceback:\n\tat a.b.c(D.java:1)\n\n  at "x",\n\t\tcause: \'y\'\r\n\r\n.',
  '{"json": "with \\"quotes\\"", "n": 1}',
  '',
  'x'.repeat(100_000) + '\n' + '\t'.repeat(1000),
];
const levels = ['INFO', 'WARN', 'ERROR', 'DEBUG', ''];

/** lines are records as a program logs them, in several hours. */
function lines(count, seed = 0) {
  let text = '';
  for (let i = 0; i < count; i++) {
    const minute = (i * 7 + seed) % 180;
    const time = `${day}T${String(9 + Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:01.${String(i).padStart(9, '0')}Z`;
    text += `${time} ${levels[i % levels.length]} ${i} ${messages[(i + seed) % messages.length]}\n`;
  }
  return text;
}

/** fill stores records of all kinds: several instances and classes, attributes, outputs whose inputs are kept, and a relay's segments. */
async function fill(t, store) {
  const joined = ['--multiline', '^\\d{4}-\\d\\d-\\d\\dT'];
  for (let i = 0; i < 3; i++) await ship(store, 'shop', lines(200, i), ...joined, '--instance', `web-${i}`);
  await ship(store, 'shop', lines(50, 5), ...joined, '--class', 'audit');
  await ship(store, 'db', lines(100, 7), ...joined, '--instance', 'db-0', '--bucket', '10m');
  await must(store, 'shipper', 'compact', '--from', day, '--to', '2026-11-21', '--max-age', '36500d', '--after', '0s', '--keep-inputs');
  await ship(store, 'shop', lines(60, 11), ...joined, '--instance', 'late');

  const input = await serveShipper(t, store, '--http', '--service', 'push', '--instance', 'push-0');
  const values = messages.map((message, i) => [String(BigInt(Date.parse(`${day}T10:00:00Z`)) * 1_000_000n + BigInt(i)), message, { trace_id: `t${i}`, note: 'a\t"b"\n\\' }]);
  const response = await fetch(`http://${input.address}/loki/api/v1/push`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ streams: [{ stream: { service_name: 'cart', env: 'prod' }, values }] }),
  });
  assert.equal(response.status, 204, await response.text());
  await input.end();

  const relay = await serveShipper(t, store, '--relay', '--service', 'relay', '--instance', 'relay-0', '--buffer-dir', path.join(store.dir, 'relay'));
  const through = { ...store, env: { ...store.env, LOGSTOW_STORE: '' } };
  for (const name of ['a', 'b']) await ship(through, 'small', lines(20, 3), ...joined, '--instance', name, '--store', `relay://${relay.address}`);
  await relay.end();
}

/** stored is the number of records that fill stores. */
const stored = 3 * 200 + 50 + 100 + 60 + messages.length + 2 * 20;

const range = ['--from', day, '--to', '2026-11-21'];

/** wanted are the records by logq, as text that is the same for the same record. */
async function wanted(store) {
  const all = String(await must(store, 'logq', 'query', ...range, '-o', 'json')).split('\n').filter(Boolean).map((line) => JSON.parse(line));
  return all.map((r) => text(r.time, r.level, r.service, r.source, r.attributes, r.message)).sort();
}

/** text is a record's; an attribute's order does not count. */
const text = (time, level, service, source, attributes, message) => JSON.stringify([time, level || '-', service, source || '-', attributes ?? null, message]);

/** sameRecords compares records as the queries return them with those of logq, and counts by hour and level with those of logq stats. */
async function sameRecords(store, rows, counts) {
  const want = await wanted(store);
  const got = rows.map((r) => text(r.time.replace(' ', 'T'), r.level, r.service, r.source, r.attributes && JSON.parse(r.attributes), r.message)).sort();
  assert.equal(want.length, stored);
  assert.equal(got.length, want.length);
  for (let i = 0; i < want.length; i++) assert.equal(got[i], want[i]);
  const stats = String(await must(store, 'logq', 'stats', ...range, '--by', 'service', '--by', '1h', '--by', 'level', '-o', 'json')).split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const key = (service, hour, level, n) => `${service} ${hour.slice(0, 13).replace(' ', 'T')} ${level || '-'} ${n}`;
  assert.deepEqual(counts.map((r) => key(r.service, r.hour, r.level, r.records)).sort(), stats.map((r) => key(r.service, r['1h'], r.level, r.count)).sort());
}

/** placed is ClickHouse's SQL with the files of a store. */
const placed = (store, texts) =>
  texts.map((one) => one.replaceAll('/var/lib/logs', path.join(store.dir, 'store')).replaceAll("'segments.json'", `'${path.join(store.dir, 'segments.json')}'`));

/** list writes segments.json. */
async function list(store, ...args) {
  const listed = await must(store, 'logq', 'segments', '--paths', ...range, '-o', 'json', ...args);
  await writeFile(path.join(store.dir, 'segments.json'), listed);
  return String(listed).split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

test('a directory', { timeout: 600_000 }, async (t) => {
  const store = await newStore(t);
  await fill(t, store);
  const listed = await list(store);
  assert.ok(listed.some((s) => s.generation > 0) && listed.some((s) => s.class === 'audit') && listed.some((s) => s.instances > 0));
  assert.ok(listed.some((s) => s.contained > 0), 'no segment that an output contains is left');

  await t.test('--paths without JSON are the same paths', async () => {
    const paths = String(await must(store, 'logq', 'segments', '--paths', ...range));
    assert.equal(paths, listed.map((s) => s.path + '\n').join(''));
    const some = String(await must(store, 'logq', 'segments', '--paths', ...range, '--service', 'db', '--service', 'cart', '--level', 'error'));
    assert.deepEqual(some.match(/cart|db/g), ['db'], 'no record of cart has a level');
  });

  await t.test('a copy of the store adds nothing', async () => {
    const copy = path.join(store.dir, 'copy');
    await cp(store.env.LOGSTOW_STORE, copy, { recursive: true });
    const both = String(await must(store, 'logq', 'segments', '--paths', ...range, '--store', store.env.LOGSTOW_STORE, '--store', copy));
    assert.deepEqual(both.replaceAll('/copy/', '/store/').split('\n').sort(), listed.map((s) => s.path).concat('').sort());
  });

  await t.test('DuckDB', async (t) => {
    const query = await duckdb(t, store.dir);
    const counts = await query(...views.duckdb, ...blocks('sql duckdb'));
    const rows = await query(`SELECT strftime(time, '%Y-%m-%dT%H:%M:%S.') || lpad((epoch_ns(time) % 1000000000)::VARCHAR, 9, '0') || 'Z' AS time,
      level, service, source, attributes, message FROM logs`);
    await sameRecords(store, rows, counts);
    assert.deepEqual(await query(...check), []);
    assert.deepEqual(await query(`SELECT DISTINCT instance FROM logs WHERE service IN ('cart', 'small') ORDER BY ALL`), [{ instance: 'push-0' }, { instance: null }]);
  });

  await t.test('ClickHouse', async (t) => {
    const query = clickhouse(t, store.dir);
    const counts = query(...placed(store, [...views.clickhouse, ...blocks('sql clickhouse')]));
    const rows = query(`SELECT toString(time) || 'Z' AS time, level, service, source, attributes, message FROM logs`);
    await sameRecords(store, rows, counts);
    assert.deepEqual(query(...check), []);
    assert.deepEqual(query(`SELECT DISTINCT instance FROM logs WHERE service IN ('cart', 'small') ORDER BY ALL`), [{ instance: 'push-0' }, { instance: null }]);
  });
});

test('the first command of the page', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(100), '--multiline', '^\\d{4}-\\d\\d-\\d\\dT');
  const program = path.join(store.dir, 'duckdb'); // DuckDB's own command line is not in npm
  await writeFile(program, `#!/bin/sh\nexec node ${path.join(root, 'testdata/engines/duckdb.mjs')} "$@"\n`);
  await chmod(program, 0o755);
  const first = blocks('sh')[0].replaceAll('deploy/engines', path.join(root, 'deploy/engines'));
  const bin = process.env.LOGSTOW_BIN || path.join(root, 'bin');
  const { stdout } = await run('bash', ['-c', first], { cwd: store.dir, env: { ...store.env, PATH: `${store.dir}:${bin}:${process.env.PATH}` } });
  assert.equal(stdout, 'DEBUG\t20\nERROR\t20\nINFO\t20\nWARN\t20\n\t20\n');
});

test('bytes that are not UTF-8, and carriage returns that DuckDB cannot tell', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'odd', Buffer.from(`${day}T10:00:00Z INFO a\r\tb\n`));
  await list(store);
  const query = await duckdb(t, store.dir);
  await query(...views.duckdb);
  assert.deepEqual(await query('SELECT message FROM logs'), [{ message: `${day}T10:00:00Z INFO a\nb` }]);

  await ship(store, 'odd', Buffer.concat([Buffer.from(`${day}T10:00:01Z INFO `), Buffer.from([0xff, 0xfe, 0x0a])]));
  await list(store);
  await assert.rejects((await duckdb(t, store.dir))(...views.duckdb, ...blocks('sql duckdb')), /unicode|utf-?8/i);
  const ch = clickhouse(t, store.dir);
  ch(...placed(store, views.clickhouse));
  assert.deepEqual(ch('SELECT hex(substring(message, -3)) AS tail FROM logs ORDER BY time'), [{ tail: '0D0962' }, { tail: '20FFFE' }]);
});

test('what only logq reads is left out, reported, and status 3', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(10));
  await mkdir(path.join(store.dir, 'store/app/2026/11/20/1000'), { recursive: true });
  await writeFile(path.join(store.dir, 'store/app/2026/11/20/1000/000001.log'), `${day}T10:00:00Z INFO of another program\n`);
  assert.equal(String(await must(store, 'logq', 'query', ...range, '--service', 'app', '--count')), '1\n');
  const { status, stdout, stderr } = await command(store, 'logq', 'segments', '--paths', ...range);
  assert.equal(status, 3, stderr);
  assert.match(String(stdout), /shop/);
  assert.doesNotMatch(String(stdout), /app/);
  assert.match(stderr, /app\/2026\/11\/20\/1000\/000001\.log: left out: another program wrote it.*\n.*hint: print its records with logq query/);
  const alone = await command(store, 'logq', 'segments', '--paths', ...range, '--service', 'app');
  assert.deepEqual([alone.status, String(alone.stdout)], [3, '']);
});

test('ClickHouse over Azurite', { timeout: 600_000, skip: !process.env.AZURE_STORAGE_CONNECTION_STRING && 'needs AZURE_STORAGE_CONNECTION_STRING' }, async (t) => {
  const container = `engines${process.pid}`;
  const store = await newStore(t, { LOGSTOW_STORE: `azblob://${container}` });
  await fill(t, store);
  const listed = await list(store);
  assert.ok(listed.every((s) => /^https?:\/\/[^?]*$/.test(s.path)), listed[0].path);
  const query = clickhouse(t, store.dir);
  const [segments, , logs] = views.clickhouse;
  const sql = [segments, ...(await viewsOf('clickhouse-azure.sql')), logs, ...blocks('sql clickhouse')];
  const counts = query(...placed(store, sql).map((one) => one.replaceAll("'CONNECTION_STRING', 'logs", `'${process.env.AZURE_STORAGE_CONNECTION_STRING}', '${container}`)));
  const rows = query(`SELECT toString(time) || 'Z' AS time, level, service, source, attributes, message FROM logs`);
  await sameRecords(store, rows, counts);
  assert.deepEqual(query(...check), []);
});
