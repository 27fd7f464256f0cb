// Saved, shared and recent queries.

import assert from 'node:assert/strict';
import { readFile, writeFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { ask, browse, checkAccessibility, lines, listed, logq, newStore, open, serve, ship, shots, textsOf, until } from './lib.mjs';
import { createQueries, exported, imported, linkOf, linkOfShared } from '../../serve/page/static/queries.js';
import { decode, defaults } from '../../serve/page/static/state.js';

const memory = (text = null) => {
  const held = { getItem: () => text, setItem: (_, value) => (text = value) };
  return () => held;
};

test('queries are remembered once, the newest first, and survive a storage with nonsense', () => {
  const storage = memory();
  const queries = createQueries(storage);
  const state = (q, more = {}) => ({ ...defaults, q, ...more });
  queries.remember(state(''));
  queries.remember(state('a'));
  queries.remember(state('b'));
  queries.remember(state('a', { from: 'now-2h', at: '5', live: '1' }));
  assert.deepEqual(queries.get().recent.map((one) => one.link), ['#q=a&from=now-2h', '#q=b']);
  queries.save([{ name: 'x', link: '#q=a' }, { name: 'y', link: '#q=b' }]);
  queries.save([{ name: 'x', link: '#q=c' }]);
  assert.deepEqual(queries.get().saved, [{ name: 'y', link: '#q=b' }, { name: 'x', link: '#q=c' }]);
  const again = createQueries(storage);
  assert.deepEqual(again.get(), queries.get());
  again.remove('y');
  queries.forget(); // it has not seen that
  assert.deepEqual(createQueries(storage).get(), { recent: [], saved: [{ name: 'x', link: '#q=c' }] });
  for (let i = 0; i < 80; i++) queries.remember(state(`q${i}`));
  assert.equal(queries.get().recent.length, 50);
  for (const text of ['{', '[]', '{"recent":[1,null,{"link":"javascript:x"}],"saved":[{"link":"#"}]}', '{"recent":1}']) assert.deepEqual(createQueries(memory(text)).get(), { recent: [], saved: [] }, text);
  const none = createQueries(() => {
    throw new Error('disabled');
  });
  none.save([{ name: 'x', link: '#q=a' }]);
  assert.equal(none.get().saved.length, 1);
});

test('an exported file has all of a query, also for logq', () => {
  const state = { ...defaults, q: 'time out', from: 'now-2h', cols: 'status,a%2Cb', tz: 'UTC', compare: 'day', q2: '{a="b"}', split: 'stack' };
  const text = exported([{ name: 'n', link: linkOf(state) }]);
  assert.deepEqual(JSON.parse(text).queries[0], { name: 'n', query: '{service_name=~".+"} |~ "(?i)time" |~ "(?i)out"', range: '2h', columns: ['status', 'a,b'], link: linkOf(state) });
  assert.deepEqual(decode(imported(text, defaults)[0].link), state);
  assert.equal(JSON.parse(exported([{ name: 'n', link: '#q=a&from=now%2Fd' }])).queries[0].range, undefined);
  assert.deepEqual(decode(linkOfShared({ name: 'n', query: '{a="b"}', range: '2h', columns: ['c'] }, { ...defaults, tz: 'UTC' })), { ...defaults, tz: 'UTC', q: '{a="b"}', from: 'now-2h', cols: 'c' });
  for (const [bad, want] of [['', /not JSON/], ['[]', /no list/], ['{"queries":[{"name":"a"}]}', /query 1/], ['{"queries":[{"name":"a","query":"b","link":"http:x"}]}', /query 1/], ['{"queries":[null]}', /query 1/]])
    assert.throws(() => imported(bad, defaults), want);
});

test('the panel of queries', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(400).join('\n') + '\n');
  const shared = path.join(store.dir, 'queries.yaml');
  await writeFile(shared, 'queries:\n  - name: errors of shop\n    query: \'{service_name="shop", level="error"}\'\n    range: 2h\n    columns: [status]\n');
  const server = await serve(t, store, '--queries', shared);
  const browser = await browse(t);
  const page = await open(t, browser, `${server.url}/`);
  await page.waitForSelector('.overview tbody tr');
  await page.keyboard.press('q');
  await page.waitForSelector('[aria-label=Shared] .query-item');
  await page.click('[aria-label=Shared] .query-item .choice');
  await listed(page, 'record');
  assert.deepEqual(await page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1)))), { q: '{service_name="shop", level="error"}', from: 'now-2h', cols: 'status' });
  await ask(page, 'upstream');
  await listed(page, 'record');
  await page.click('#queries');
  await page.waitForSelector('[aria-label=Recent] .query-item');
  assert.deepEqual(await textsOf(page, '[aria-label=Recent] code'), ['upstream', '{service_name="shop", level="error"}']);
  await page.type('#query-name', 'failures <b>');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[aria-label=Saved] .query-item');
  assert.deepEqual(await textsOf(page, '[aria-label=Saved] .query-name'), ['failures <b>']);
  await checkAccessibility(page, 'queries');
  await shots(page, 'queries');

  const downloads = path.join(store.dir, 'downloads');
  const session = await page.createCDPSession();
  await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads });
  await page.click('#export-queries');
  let names = [];
  for (let i = 0; i < 600 && !names.includes('queries.json'); i++) {
    await setTimeout(50);
    names = await readdir(downloads).catch(() => []);
  }
  const file = path.join(downloads, 'queries.json');
  assert.equal(JSON.parse(await readFile(file, 'utf8')).queries[0].query, '{service_name=~".+"} |~ "(?i)upstream"');
  assert.match(await logq(store, 'saved', '--queries', file), /^NAME.*\nfailures <b> +2h +\{service_name=~"\.\+"\} \|~ "\(\?i\)upstream"\n$/);
  assert.equal((await logq(store, 'saved', '--queries', file, 'failures <b>')).trimEnd().split('\n').length, Number((await textsOf(page, '#found b'))[0]));

  await page.click('[aria-label=Saved] [aria-label^=Remove]');
  await until(page, () => !document.querySelector('[aria-label=Saved]'));
  const input = await page.$('.query-panel input[type=file]');
  await input.uploadFile(file);
  await page.waitForSelector('[aria-label=Saved] .query-item');
  const broken = path.join(store.dir, 'broken.json');
  await writeFile(broken, '{');
  await input.uploadFile(broken);
  await page.waitForSelector('.query-panel [role=alert]');
  await page.click('#forget-queries');
  await until(page, () => !document.querySelector('[aria-label=Recent]'));
  await page.reload();
  await page.waitForSelector('.rows .row');
  await page.keyboard.press('q');
  await page.waitForSelector('[aria-label=Saved] .query-item');
  assert.deepEqual(await textsOf(page, '[aria-label=Saved] .query-name'), ['failures <b>'], 'it is still there');
  await page.click('#query-name');
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'queries');
});
