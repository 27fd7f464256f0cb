// DuckDB and ClickHouse read the Delta Lake table of shipper export, with the SQL of docs/export.md, as logq reads the store.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { blocksOf, clickhouse, command, duckdb, must, newStore, root, ship } from './lib.mjs';

const bin = process.env.LOGSTOW_BIN || path.join(root, 'bin');
const blocks = await blocksOf('docs/export.md');
const hour = 3_600_000;
const midnight = Math.floor(Date.now() / (24 * hour)) * 24 * hour;

/** dayBefore is the time of the start of a day that ended some days ago; 1 is yesterday. */
const dayBefore = (n) => midnight - n * 24 * hour;

/** iso is a time as logq and messages have it. */
const iso = (millis, nanos = 0) => new Date(millis).toISOString().slice(0, 19) + '.' + String(nanos).padStart(9, '0') + 'Z';

const levels = ['INFO', 'WARN', 'ERROR'];

/** logs are lines of JSON in each of the first hours of a day, so that there is a segment of each: compact merges eight late ones. */
function logs(start, count, { hours = 9, seed = 0, step = 997 } = {}) {
  let text = '';
  for (let i = 0; i < count; i++) {
    const time = iso(start + (i % hours) * hour + (Math.floor(i / hours) % 3600) * 1000, (i * step + seed) % 1_000_000_000);
    text += JSON.stringify({ time, level: levels[(i + seed) % 3], duration_ms: (i * 37 + seed) % 500, user: `user-${(i + seed) % 17}`, text: `line ${seed}-${i} ünï "q"` }) + '\n';
  }
  return text;
}

const compact = ['compact', '--after', '0s', '--grace', '0s'];
const exporting = (store, ...flags) => ['export', '--to', store.table, '--columns', 'duration_ms:integer,user', ...flags];

/** shipTo stores lines of several services. */
async function shipTo(store, start, seed) {
  for (const service of ['shop', 'db']) await ship(store, service, logs(start, 180, { seed }), '--instance', `${service}-${seed % 3}`, '--bucket', '1h');
}

/** killer kills programs at moments spread over the time that such a command took when it last ended by itself, whatever the machine. */
function killer(store) {
  const took = new Map();
  let runs = 0;
  /** finished runs a command to its end. */
  const finished = async (args) => {
    const start = performance.now();
    await must(store, 'shipper', ...args);
    took.set(args[0], performance.now() - start);
  };
  /** killed resolves to whether a command was killed before it ended. */
  const killed = async (args) => {
    // The golden ratio: any number of moments lie evenly.
    const share = (runs++ * 0.618) % 1;
    const program = spawn(path.join(bin, 'shipper'), args, { cwd: store.dir, env: store.env, stdio: 'ignore' });
    const timer = setTimeout(() => program.kill('SIGKILL'), share * took.get(args[0]));
    const [, signal] = await once(program, 'close');
    clearTimeout(timer);
    return signal === 'SIGKILL';
  };
  return { finished, killed };
}

/** entries are the actions of all entries of a table's log in a directory. */
async function entries(table) {
  const dir = path.join(table, '_delta_log');
  const actions = [];
  for (const name of (await readdir(dir)).filter((one) => /^\d{20}\.json$/.test(one)).sort()) {
    for (const line of (await readFile(path.join(dir, name), 'utf8')).split('\n').filter(Boolean)) actions.push(JSON.parse(line));
  }
  return actions;
}

/** liveFiles are the data files of a table, by its log. */
async function liveFiles(table) {
  const live = new Set();
  for (const { add, remove } of await entries(table)) {
    if (add) live.add(add.path);
    if (remove) live.delete(remove.path);
  }
  return [...live].map((one) => path.join(table, one));
}

/** placed is the SQL of the page for a table in a directory. DuckDB's extension cannot be installed here: it gets the files that the log names. */
async function placed(table, ...infos) {
  const files = `read_parquet([${(await liveFiles(table)).map((one) => `'${one}'`)}], union_by_name = true, hive_partitioning = true)`;
  return blocks(...infos).map((one) => one.replaceAll(`delta_scan('/var/lib/lake')`, files).replaceAll('/var/lib/lake', table).replaceAll('2026-11-20', iso(dayBefore(400)).slice(0, 10)));
}

/** counted are counts by service, hour and level, as text. */
const counted = (rows) => rows.map((r) => [r.service, String(r.hour).slice(0, 13).replace(' ', 'T'), r.level, Number(r.records)].join(' '));

/** groups are counts and sums by service, hour and level, as text. */
const groups = (rows) => rows.map((r) => [r.service, String(r.hour).slice(0, 13).replace(' ', 'T'), r.level, Number(r.records), Number(r.total)].join(' ')).sort();

const grouped = (from) => `SELECT service, date_trunc('hour', time) AS hour, level, count(*) AS records, sum(duration_ms) AS total FROM ${from} GROUP BY ALL`;

/** wanted are the groups of logq. */
async function wanted(store) {
  const found = String(await must(store, 'logq', 'stats', '--since', '40d', '--by', 'service', '--by', '1h', '--by', 'level', '--compute', 'count, sum(duration_ms) as total', '-o', 'json'));
  return groups(found.split('\n').filter(Boolean).map((line) => JSON.parse(line)).map((r) => ({ service: r.service, hour: r['1h'], level: r.level, records: r.count, total: r.total })));
}

/** records are all records of logq, or of a table, as text. */
async function records(store) {
  const found = String(await must(store, 'logq', 'query', '--since', '40d', '-o', 'json'));
  return found.split('\n').filter(Boolean).map((line) => JSON.parse(line)).map((r) => [r.time, r.service, r.instance, r.level, r.message].join('|')).sort();
}

const recordsOf = (rows) => rows.map((r) => [iso(Number(BigInt(r.nanos) / 1_000_000n), Number(BigInt(r.nanos) % 1_000_000_000n)), r.service, r.instance, r.level, r.message].join('|')).sort();

/** sameAsLogq compares a table in a directory by both engines with logq. */
async function sameAsLogq(t, store) {
  const want = await wanted(store);
  assert.ok(want.length > 10);
  const counts = want.map((one) => one.split(' ').slice(0, 4).join(' '));
  const ch = clickhouse(t, store.dir);
  const all = await records(store);
  same(counted(ch(...(await placed(store.table, 'sql clickhouse directory', 'sql')))), counts);
  same(groups(ch(grouped('logs'))), want);
  same(recordsOf(ch(`SELECT toString(time_nanos) AS nanos, service, instance, level, message FROM logs`)), all);
  const duck = await duckdb(t, store.dir);
  same(counted(await duck(...(await placed(store.table, 'sql duckdb', 'sql')))), counts);
  same(groups(await duck(grouped('logs'))), want);
  same(recordsOf(await duck(`SELECT time_nanos::VARCHAR AS nanos, service, instance, level, message FROM logs`)), all);
  assert.deepEqual(await duck(`SELECT count(*) AS n FROM logs WHERE date <> time::DATE OR epoch_us(time) <> time_nanos // 1000`), [{ n: '0' }]);
  return ch;
}

/** same compares lists, and shows the first difference only. */
function same(got, want) {
  for (let i = 0; i < Math.max(got.length, want.length); i++) assert.equal(got[i], want[i], `item ${i} of ${got.length}, wanted ${want.length}`);
}

/** tableIn is a store with a table. ClickHouse reads files below its working directory only. */
async function tableIn(t, env) {
  const store = await newStore(t, env);
  store.table = path.join(store.dir, 'lake');
  process.chdir('/');
  return store;
}

test('export, compaction and retention, killed 40 times', { timeout: 1_200_000 }, async (t) => {
  const store = await tableIn(t);
  for (const n of [1, 2, 3, 8]) await shipTo(store, dayBefore(n), n);
  const exported = exporting(store, '--keep', '6d');
  const retained = ['retain', '--keep', '6d'];
  const { finished, killed } = killer(store);
  let kills = 0;
  for (let i = 0; kills < 40; i++) {
    assert.ok(i < 100, `only ${kills} kills`);
    await shipTo(store, dayBefore(1 + (i % 3)), 10 + i);
    if (i % 5 === 0) for (const args of [compact, exported, retained]) await finished(args);
    else kills += (await Promise.all([exported, compact, i % 4 === 3 ? retained : exported].map(killed))).filter(Boolean).length;
  }
  for (const n of [1, 2, 3]) await shipTo(store, dayBefore(n), 1000 + n);
  await must(store, 'shipper', 'retain', '--keep', '6d');
  await must(store, 'shipper', ...compact);
  await must(store, 'shipper', ...exporting(store, '--keep', '6d'));
  await sameAsLogq(t, store);
});

test('a table of 2,000 commits opens through its checkpoint', { timeout: 600_000 }, async (t) => {
  const store = await tableIn(t);
  await shipTo(store, dayBefore(1), 1);
  await must(store, 'shipper', ...compact);
  await must(store, 'shipper', ...exporting(store));
  const log = path.join(store.table, '_delta_log');
  const name = (version) => path.join(log, String(version).padStart(20, '0'));
  for (let version = 1; version < 1999; version++) await writeFile(`${name(version)}.json`, JSON.stringify({ commitInfo: { timestamp: Date.now(), operation: 'WRITE', version } }) + '\n');
  await shipTo(store, dayBefore(2), 2);
  await must(store, 'shipper', ...compact);
  await must(store, 'shipper', ...exporting(store));
  assert.deepEqual((await readdir(log)).filter((one) => !one.endsWith('.json')).sort(), [`${'1999'.padStart(20, '0')}.checkpoint.parquet`, '_last_checkpoint']);
  const ch = await sameAsLogq(t, store);
  for (let version = 0; version < 1999; version++) await rm(`${name(version)}.json`);
  same(groups(ch(grouped(`deltaLakeLocal('${store.table}')`))), await wanted(store));
  assert.match(String(await must(store, 'shipper', ...exporting(store))), /exported 0 outputs .*; version 1999;/);
});

test('statistics prune', { timeout: 600_000 }, async (t) => {
  const store = await tableIn(t);
  const rows = 24 * 4000;
  await ship(store, 'large', logs(dayBefore(1), rows, { hours: 24 }));
  for (let i = 0; i < 4; i++) await ship(store, `small-${i}`, logs(dayBefore(1), 24 * 10, { hours: 24, seed: i }));
  await must(store, 'shipper', ...compact);
  await must(store, 'shipper', ...exporting(store));
  const ch = clickhouse(t, store.dir);
  const from = iso(dayBefore(1) + 5 * hour).slice(0, 19).replace('T', ' ');
  const to = iso(dayBefore(1) + 6 * hour).slice(0, 19).replace('T', ' ');
  const [all] = ch(`SELECT count() AS n FROM deltaLakeLocal('${store.table}')`);
  for (const [service, want] of [['large', 4000], ['small-2', 10]]) {
    const { rows, read } = ch.statistics(`SELECT count() AS n, sum(length(message)) AS size FROM deltaLakeLocal('${store.table}')
      WHERE service = '${service}' AND time >= '${from}' AND time < '${to}'`);
    assert.equal(Number(rows[0].n), want);
    t.diagnostic(`${service}: ${read} of ${all.n} rows read`);
    assert.ok(read <= Number(all.n) / 10, `${service}: ${read} of ${all.n} rows read`);
  }
});

test('ClickHouse over Azurite', { timeout: 600_000, skip: !process.env.AZURE_STORAGE_CONNECTION_STRING && 'needs AZURE_STORAGE_CONNECTION_STRING' }, async (t) => {
  const container = `table${process.pid}`;
  const store = await tableIn(t, { LOGSTOW_STORE: `azblob://${container}` });
  store.table = `azblob://lake${process.pid}/a/logs`;
  for (const n of [1, 2]) await shipTo(store, dayBefore(n), n);
  await must(store, 'shipper', ...compact);
  await must(store, 'shipper', ...exporting(store));
  const { stdout } = await command(store, 'shipper', ...exporting(store, '--dry-run'));
  assert.match(String(stdout), /would export 0 outputs/);
  const ch = clickhouse(t, store.dir);
  const [view] = blocks('sql clickhouse azure');
  ch(view.replace(`'CONNECTION_STRING', 'lake', 'logs'`, `'${process.env.AZURE_STORAGE_CONNECTION_STRING}', 'lake${process.pid}', 'a/logs'`));
  same(groups(ch(grouped('logs'))), await wanted(store));
});
