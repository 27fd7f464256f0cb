// What the page keeps at most: docs/limits.md states it.

import assert from 'node:assert/strict';
import { open as openFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { browse, child, newStore, open, serve, ship, textOf, until } from './lib.mjs';

const listRecords = 200_000;
const listMemory = 128; // MiB of the page's JavaScript
const atATime = 6; // requests that a browser makes with HTTP/1.1
const liveRecords = 12_000;

/** measured is a page that counts the requests of its API that are in flight. */
async function measured(t, url) {
  const page = await open(t, await browse(t), url);
  const flying = new Set();
  let most = 0;
  page.on('request', (r) => {
    if (!r.url().includes('/api/v1/')) return;
    flying.add(r);
    most = Math.max(most, flying.size);
  });
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (r) => flying.delete(r));
  return { page, most: () => most };
}

const heap = async (page) => {
  const session = await page.createCDPSession();
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / (1 << 20);
};

test('the list holds 200,000 records', { timeout: 480_000 }, async (t) => {
  const store = await newStore(t);
  const end = Date.now() - 60_000;
  let text = '';
  for (let i = 0; i < listRecords + 5000; i++) text += `${new Date(end - 3_000_000 + i * 10).toISOString()} INFO request ${i} served in ${i % 97}ms\n`;
  await ship(store, 'many', text);
  const server = await serve(t, store);
  const { page, most } = await measured(t, `${server.url}/#${new URLSearchParams({ q: '{service_name="many"}', format: 'raw' })}`);
  await page.waitForSelector('.rows .row');
  await until(page, (want) => {
    const list = document.querySelector('#records');
    list.scrollTop = list.scrollHeight;
    return document.querySelector('#found').textContent.replace(/\D/g, '').startsWith(want);
  }, String(listRecords));
  const used = await heap(page);
  t.diagnostic(`${await textOf(page, '#found')}: ${used.toFixed(0)} MiB, ${most()} requests at a time`);
  assert.ok(used < listMemory, `${used} MiB`);
  assert.ok(most() <= atATime, `${most()} requests at a time`);
});

test('a live list holds 12,000 records', { timeout: 480_000 }, async (t) => {
  const store = await newStore(t);
  const file = path.join(store.dir, 'app.log');
  const log = await openFile(file, 'a');
  t.after(() => log.close());
  await ship(store, 'live', 'first\n');
  child(t, store, 'shipper', ['run', '--from-start', '--service', 'live', '--flush-interval', '200ms', file]);
  const server = await serve(t, store);
  const { page } = await measured(t, `${server.url}/#${new URLSearchParams({ q: '{service_name="live"}' })}`);
  await page.waitForSelector('.rows .row');
  await page.keyboard.press('l');
  let most = 0;
  for (let part = 0; part < 8; part++) {
    let text = '';
    for (let i = 0; i < 2000; i++) text += `part ${part} line ${i}\n`;
    await log.write(text);
    await until(page, (last) => document.querySelector('.rows')?.textContent.includes(last), `part ${part} line 1999`);
    const shown = await textOf(page, '#found');
    t.diagnostic(shown);
    most = Math.max(most, Number(shown.replace(/\D/g, '')));
  }
  t.diagnostic(`at most ${most} records, ${(await heap(page)).toFixed(0)} MiB`);
  assert.ok(most > 0 && most <= liveRecords, `${most} records`);
});
