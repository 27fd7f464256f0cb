// What the tests of engines share: the SQL of deploy/engines, docs/engines.md and docs/export.md, a store filled by shippers, and the engines.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import chdb from 'chdb';

const run = promisify(execFile);
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const bin = process.env.LOGSTOW_BIN || path.join(root, 'bin');

/** blocksOf reads a page; the result returns its blocks whose info string is one of those given, in order. */
export async function blocksOf(name) {
  const page = await readFile(path.join(root, name), 'utf8');
  return (...infos) => blocksIn(name, page, infos);
}

function blocksIn(name, page, infos) {
  const found = [...page.matchAll(/^```(.+)\n([^]*?)^```$/gm)].filter(([, info]) => infos.includes(info)).map(([, , text]) => text);
  assert.ok(found.length > 0, `${name} has no block ${infos}`);
  return found;
}

/** viewsOf are the statements of a file of deploy/engines. */
export const viewsOf = async (name) => statements(await readFile(path.join(root, 'deploy/engines', name), 'utf8')).map((one) => one + ';');

/** statements are the statements of SQL: a semicolon ends a line. */
export const statements = (...texts) => texts.join('\n').split(/;\s*(?:\n|$)/).map((one) => one.trim()).filter(Boolean);

/** newStore is an empty store in a directory, or what env names, with a directory of its own for other files. */
export async function newStore(t, env = {}) {
  const dir = await mkdtemp(path.join(tmpdir(), 'logstow-engines-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return { dir, env: { ...process.env, XDG_STATE_HOME: path.join(dir, 'state'), XDG_CACHE_HOME: path.join(dir, 'cache'), LOGSTOW_STORE: path.join(dir, 'store'), ...env } };
}

/** command runs one of the programs. */
export async function command(store, program, ...args) {
  try {
    const { stdout, stderr } = await run(path.join(bin, program), args, { cwd: store.dir, env: store.env, maxBuffer: 1 << 28, encoding: 'buffer' });
    return { status: 0, stdout, stderr: String(stderr) };
  } catch (err) {
    if (typeof err.code !== 'number') throw err;
    return { status: err.code, stdout: err.stdout, stderr: String(err.stderr) };
  }
}

/** must is what a command prints that succeeds. */
export async function must(store, program, ...args) {
  const { status, stdout, stderr } = await command(store, program, ...args);
  assert.equal(status, 0, stderr);
  return stdout;
}

/** ship stores text, the lines of a service; flags are further ones of shipper run. */
export async function ship(store, service, text, ...flags) {
  const shipper = spawn(path.join(bin, 'shipper'), ['run', '--once', '--service', service, ...flags, '-'], { cwd: store.dir, env: store.env, stdio: ['pipe', 'ignore', 'pipe'] });
  let errors = '';
  shipper.stderr.on('data', (chunk) => (errors += chunk));
  shipper.stdin.end(text);
  const [status] = await once(shipper, 'close');
  assert.equal(status, 0, errors);
}

/** serveShipper runs a shipper with one input, whose flag it is, until end; address is the input's. */
export async function serveShipper(t, store, flag, ...flags) {
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const address = `127.0.0.1:${free.address().port}`;
  free.close();
  await once(free, 'close');
  const shipper = spawn(path.join(bin, 'shipper'), ['run', flag, address, ...flags], { cwd: store.dir, env: store.env, stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(() => shipper.kill('SIGKILL'));
  const ended = once(shipper, 'close');
  let errors = '';
  await new Promise((resolve, reject) => {
    shipper.stderr.on('data', (chunk) => {
      errors += chunk;
      if (errors.includes(address)) resolve();
    });
    ended.then(() => reject(new Error(errors)));
  });
  const end = async () => {
    shipper.kill('SIGTERM');
    const [status] = await ended;
    assert.equal(status, 0, errors);
  };
  return { address, end };
}

/** duckdb runs SQL; the rows of each statement are arrays of text. */
export async function duckdb(t, dir) {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  t.after(() => {
    connection.closeSync();
    instance.closeSync();
  });
  await connection.run(`SET file_search_path = '${dir}'`);
  return async (...texts) => {
    let rows;
    for (const one of statements(...texts)) rows = (await connection.runAndReadAll(one)).getRowObjectsJson();
    return rows;
  };
}

/** clickhouse runs SQL in a database of its own in directory dir. */
export function clickhouse(t, dir) {
  const session = new chdb.Session(path.join(dir, 'clickhouse'));
  t.after(() => session.close());
  const query = (...texts) => {
    let text = '';
    for (const one of statements(...texts)) text = session.query(one, 'JSONEachRow');
    return text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  };
  /** statistics are the rows of a statement, and how many rows ClickHouse read for them. */
  query.statistics = (text) => {
    const { data, statistics } = JSON.parse(session.query(text, 'JSON'));
    return { rows: data, read: statistics.rows_read };
  };
  return query;
}
