// The page as it is used, over a store that the shipper filled.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test from 'node:test';
import { promisify } from 'node:util';
import { ask, browse, checkAccessibility, found, lines, listed, newStore, open, rowsOf, serve, ship, shot, textOf, textsOf, until } from './lib.mjs';

const run = promisify(execFile);

test('the page', { timeout: 480_000 }, async (t) => {
  const store = await newStore(t);
  const shop = lines(3000, { seed: 1 });
  const quiet = lines(800, { seed: 2, errors: 0 });
  await ship(store, 'shop', shop.join('\n') + '\n');
  await ship(store, 'mail', quiet.join('\n') + '\n');
  const server = await serve(t, store);
  const browser = await browse(t);
  const bad = shop.filter((l) => l.includes('"ERROR"'));
  const at = (fragment = '') => `${server.url}/#${fragment}`;
  const query = (q, more = {}) => at(new URLSearchParams({ q, format: 'raw', ...more }).toString());

  await t.test('first view: services, those with errors first, without a query', async (t) => {
    const page = await open(t, browser, at());
    await page.waitForSelector('.overview tbody tr');
    assert.deepEqual(await textsOf(page, '.overview tbody th'), ['shop', 'mail']);
    const cells = await textsOf(page, '.overview tbody tr:first-child td');
    assert.equal(cells[0], bad.length.toLocaleString('en-US'));
    assert.match(await textOf(page, '.summary'), /3,800 records of 2 services, \d+ errors in 1/);
    await until(page, () => document.querySelector('#cost').textContent.includes('segment'));
    assert.match(await textOf(page, '#cost'), /^Reads at most \d segments, [\d.]+ .?B$/);
    await checkAccessibility(page, 'first view');
    await shot(page, 'first');
    await page.click('.overview tbody td .link.bad');
    await found(page, `${bad.length} records`);
    assert.equal(await page.$eval('#query', (q) => q.value), '{service_name="shop", level=~"error|fatal"}');
    await page.goBack();
    await page.waitForSelector('.overview tbody tr');
  });

  await t.test('query: LogQL, words, and a mistake', async (t) => {
    const page = await open(t, browser, at('format=raw'), { expected: [/400/] });
    await page.waitForSelector('.overview');
    await ask(page, '{service_name="shop"} | json | status = 503');
    await listed(page, `${bad.length} records`);
    assert.deepEqual((await rowsOf(page)).slice(0, 5), bad.toReversed().slice(0, 5));
    await ask(page, 'upstream "failed" -search');
    const wanted = bad.filter((l) => !l.includes('search')).length;
    await listed(page, `${wanted} records`);
    assert.equal(await textOf(page, '.runs-as code'), '{service_name=~".+"} |~ "(?i)upstream" |~ "(?i)failed" !~ "(?i)search"');
    assert.ok((await textsOf(page, 'mark')).includes('upstream'));
    await shot(page, 'words');
    await ask(page, '{service_name="shop"} | nothing');
    await page.waitForSelector('.place mark');
    assert.match(await textOf(page, '.failure'), /Invalid query.*unknown stage nothing/);
    await checkAccessibility(page, 'mistake');
    await shot(page, 'mistake');
  });

  await t.test('completion of labels, values, stages and fields', async (t) => {
    const page = await open(t, browser, query('{service_name="shop"}'), { expected: [/400/] }); // estimates of half a query
    await listed(page, 'records'); // whose fields are offered
    const offers = async (want) => {
      await until(page, (text) => [...document.querySelectorAll('#offers code')].some((el) => el.textContent === text), want);
      return textsOf(page, '#offers code');
    };
    await page.click('#query', { count: 3 });
    await page.type('#query', '{ser');
    await offers('service_name=""}');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    assert.deepEqual((await offers('shop')).toSorted(), ['mail', 'shop']);
    await page.type('#query', 'sh');
    await offers('shop');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    assert.equal(await page.$eval('#query', (q) => q.value), '{service_name="shop"}');
    await page.keyboard.press('End');
    await page.type('#query', ' | js');
    await offers('json');
    await checkAccessibility(page, 'completion');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.type('#query', ' | pa');
    assert.ok((await offers('path=""')).includes('pattern "<_>"'));
    await shot(page, 'completion');
    await page.keyboard.press('Escape');
    await page.keyboard.press('End');
  });

  await t.test('brush: a drag chooses the range of whole bars', async (t) => {
    const page = await open(t, browser, query('{service_name="shop"}'));
    await found(page, '3,000');
    const box = await (await page.$('#histogram')).boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 8 });
    await shot(page, 'brush');
    await page.mouse.up();
    await until(page, () => location.hash.includes('from=20'));
    const params = new URLSearchParams(new URL(page.url()).hash.slice(1));
    const [from, to] = [params.get('from'), params.get('to')];
    const inside = shop.filter((l) => JSON.parse(l).time >= from && JSON.parse(l).time < to).length;
    assert.ok(inside > 300 && inside < 1000, `${inside} records between ${from} and ${to}`);
    await found(page, `${inside.toLocaleString('en-US')} records`);
  });

  await t.test('facets: include, exclude, and neither again', async (t) => {
    const page = await open(t, browser, query('{service_name="shop"}'));
    await found(page, '3,000');
    const click = (label) => page.click(`:is([title^="${label}"], [aria-label^="${label}"])`);
    await page.click('[aria-controls="facet-path"]');
    const buys = shop.filter((l) => l.includes('"/buy"')).length;
    await click('Only path /buy');
    await found(page, `${buys.toLocaleString('en-US')} records`);
    assert.equal(await page.$eval('#query', (q) => q.value), '{service_name="shop"} | json | path="/buy"');
    await shot(page, 'facet');
    await click('Remove the filter path /buy');
    await found(page, '3,000');
    await click('Exclude path /buy');
    await found(page, (3000 - buys).toLocaleString('en-US'));
    assert.equal(await page.$eval('#query', (q) => q.value), '{service_name="shop"} | json | path!="/buy"');
    await click('Only level error');
    await found(page, `${bad.filter((l) => !l.includes('"/buy"')).length} records`);
  });

  await t.test('histogram by a field', async (t) => {
    const page = await open(t, browser, query('{service_name="shop"}', { by: 'path' }));
    await until(page, () => document.querySelectorAll('.legend li').length === 4);
    const n = shop.filter((l) => l.includes('"/cart"')).length;
    assert.ok((await textsOf(page, '.legend li')).includes(`/cart ${n}`), String(await textsOf(page, '.legend li')));
    await shot(page, 'by-field');
  });

  await t.test('a record, its context, and a link that a fresh profile opens', async (t) => {
    const page = await open(t, browser, query('{service_name="shop"} |= "upstream"', { cols: 'status,took_ms' }));
    await page.waitForSelector('.rows .row');
    assert.deepEqual((await textsOf(page, '.results .row.head .cell')).slice(0, 5), ['Time', 'Level', 'status', 'took_ms', 'Message']);
    await page.click('.rows .row:nth-child(3)');
    await page.waitForSelector('.detail');
    const record = bad.at(-3);
    assert.equal(await textOf(page, '.detail pre'), record);
    const fields = Object.fromEntries(await page.$$eval('.detail-fields tr', (all) => all.map((tr) => [tr.cells[0].textContent, tr.cells[1].textContent])));
    assert.equal(fields.n, String(JSON.parse(record).n));
    assert.equal(fields.service_name, 'shop');
    await checkAccessibility(page, 'record');
    await shot(page, 'record');
    await page.click('#tab-context');
    await page.waitForSelector('.context .row.own');
    const around = await textsOf(page, '.context .row .message');
    const i = shop.indexOf(record);
    assert.ok(shop.slice(Math.max(0, i - 25), i + 26).join('\n').includes(around.join('\n')), 'the records around it, in order');
    assert.equal(await textOf(page, '.context .row.own .message'), record);
    await checkAccessibility(page, 'context');
    await shot(page, 'context');
    const other = await browse(t);
    const opened = await open(t, other, page.url());
    await opened.waitForSelector('.detail');
    assert.equal(await textOf(opened, '.detail pre'), record);
    assert.deepEqual(await rowsOf(opened), await rowsOf(page));
    assert.deepEqual((await textsOf(opened, '.row.head .cell')).slice(2, 4), ['status', 'took_ms']);
  });

  await t.test('column picker', async (t) => {
    const page = await open(t, browser, query('{service_name="shop"}'));
    await listed(page, '3,000');
    await page.click('#columns');
    await page.type('.panel.columns input', 'took');
    await page.keyboard.press('Enter');
    await until(page, () => [...document.querySelectorAll('.row.head .cell')].some((c) => c.textContent === 'took_ms'));
    await checkAccessibility(page, 'columns');
    await shot(page, 'columns');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'columns');
    const shown = await textsOf(page, '.rows .row .field');
    assert.equal(shown[0], String(JSON.parse(shop.at(-1)).took_ms));
  });

  await t.test('patterns', async (t) => {
    const page = await open(t, browser, query('{service_name="shop"}', { view: 'patterns' }));
    await page.waitForSelector('.patterns tbody tr');
    const first = await textOf(page, '.patterns tbody tr td');
    assert.ok(Number(first.replace(',', '')) >= bad.length, first);
    await checkAccessibility(page, 'patterns');
    await shot(page, 'patterns');
    await page.click('.patterns tbody tr:last-child [aria-label^="Only"]');
    await until(page, () => document.querySelector('#query').value.includes('|>'));
    await shot(page, 'pattern-picked');
    await page.waitForSelector('.rows .row');
    assert.match(await page.$eval('#query', (q) => q.value), /\|> "/);
  });

  await t.test('metric query: a chart', async (t) => {
    const page = await open(t, browser, query('sum by (path) (rate({service_name="shop"} | json [1m]))'));
    await page.waitForSelector('.metric tbody tr');
    assert.equal((await page.$$('.metric tbody tr')).length, 4);
    await checkAccessibility(page, 'chart');
    await shot(page, 'chart');
  });

  await t.test('copied command: logq prints the same records', async (t) => {
    const page = await open(t, browser, query(`{service_name="shop"} |= "upstream" != "it's" | json | took_ms > 40`));
    await listed(page, 'records');
    await until(page, () => document.querySelector('#found').textContent.match(/^[\d,]+ record/));
    await page.click('#command');
    await page.waitForSelector('#command-0');
    await shot(page, 'command');
    const command = await textOf(page, '#command-0');
    const bin = process.env.LOGSTOW_BIN || new URL('../../bin', import.meta.url).pathname;
    const { stdout } = await run('sh', ['-c', command], { env: { ...store.env, PATH: `${bin}:${process.env.PATH}` }, maxBuffer: 1 << 26 });
    const printed = stdout.trimEnd().split('\n').map((l) => l.split('\t')[3]);
    assert.deepEqual(printed, bad.filter((l) => JSON.parse(l).took_ms > 40).toReversed());
    assert.deepEqual((await rowsOf(page)).slice(0, 10), printed.slice(0, 10));
  });

  await t.test('empty range: the newest records are found', async (t) => {
    const page = await open(t, browser, at('from=now-3h&to=now-2h'));
    await page.waitForSelector('.empty h2');
    assert.equal(await textOf(page, '.empty h2'), 'No records');
    await checkAccessibility(page, 'empty');
    await shot(page, 'empty');
    await page.click('#find-newest');
    await page.waitForSelector('#show-newest');
    await page.click('#show-newest');
    await page.waitForSelector('.overview tbody tr');
  });

  await t.test('range picker: absolute times in a zone', async (t) => {
    const page = await open(t, browser, query('{service_name="shop"}'));
    await found(page, '3,000');
    await page.click('#range');
    await page.waitForSelector('#range-from');
    const set = async (id, text) => {
      await page.click(id, { count: 3 });
      await page.type(id, text);
    };
    const day = new Date(Date.now() - 864e5).toISOString().slice(0, 10);
    await set('#range-from', `${day} 10:00`);
    await set('#range-to', `${day} 12:00:30`);
    await set('#range-zone', 'Asia/Kolkata');
    await checkAccessibility(page, 'range');
    await shot(page, 'range');
    await page.click('.panel.range .primary');
    await until(page, () => location.hash.includes('tz='));
    const params = new URLSearchParams(new URL(page.url()).hash.slice(1));
    assert.equal(params.get('from'), `${day}T04:30:00.000Z`);
    assert.equal(params.get('to'), `${day}T06:30:30.000Z`);
  });

  await t.test('an error of the server, and none', async (t) => {
    const page = await open(t, browser, query('{service_name="shop"}'), { expected: [/Failed to load|ERR_/] });
    await found(page, '3,000');
    server.process.kill('SIGTERM');
    await new Promise((resolve) => server.process.once('close', resolve));
    await page.keyboard.press('Escape');
    await page.click('.querybar .run');
    await page.waitForSelector('.failure');
    assert.match(await textOf(page, '.failure'), /cannot reach the server/);
    await checkAccessibility(page, 'no connection');
    await shot(page, 'no-connection');
  });
});
