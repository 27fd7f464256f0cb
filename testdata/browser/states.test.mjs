// States that a store in a directory does not have by itself: costs, limits, answers that break off.

import assert from 'node:assert/strict';
import test from 'node:test';
import { browse, checkAccessibility, found, lines, newStore, open, rowsOf, serve, ship, shot, textOf, until } from './lib.mjs';

const query = (server, more = {}) => `${server.url}/#${new URLSearchParams({ q: '{service_name="shop"}', format: 'raw', ...more })}`;

/** answer replaces answers of the server whose path ends so. */
async function answer(page, path, f) {
  await page.setRequestInterception(true);
  page.on('request', (r) => (new URL(r.url()).pathname.endsWith(path) ? f(r) : r.continue()));
}

test('states', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  const logged = lines(500);
  await ship(store, 'shop', logged.join('\n') + '\n');
  const server = await serve(t, store);
  const browser = await browse(t);

  await t.test('a query that costs much asks first', async (t) => {
    const page = await open(t, browser, `${server.url}/ready`);
    let reads = 0;
    await answer(page, 'estimate', (r) => r.respond({ contentType: 'application/json', body: JSON.stringify({ segments: 1200, records: 5e7, bytes: 4.2e9, cost_usd: 0.36, free: false }) }));
    page.on('request', (r) => (reads += /query_range|records/.test(r.url())));
    await page.goto(query(server, { compare: 'period' }));
    await page.waitForSelector('[role=alertdialog]');
    assert.match(await textOf(page, '[role=alertdialog]'), /may cost \$0\.36.*1,200 segments, 4\.2 GB/);
    await until(page, () => document.querySelector('#cost').textContent.includes('$0.36'));
    assert.equal(reads, 0, 'nothing was read');
    await checkAccessibility(page, 'cost');
    await shot(page, 'cost');
    await page.click('[role=alertdialog] .button');
    await found(page, '500 records');
    await page.waitForSelector('.compared');
  });

  await t.test('an answer that breaks off is shown as incomplete', async (t) => {
    const page = await open(t, browser, `${server.url}/ready`, { expected: [/ERR_/] });
    await page.evaluateOnNewDocument(() => {
      const real = window.fetch;
      window.fetch = async (...args) => {
        const response = await real(...args);
        if (!String(args[0]).includes('/records')) return response;
        const text = await response.text();
        let sent = false;
        const body = new ReadableStream({
          async pull(controller) {
            if (sent) await new Promise((resolve) => document.addEventListener('break-off', resolve, { once: true }));
            if (sent) controller.error(new TypeError('network error'));
            else controller.enqueue(new TextEncoder().encode(text.split('\n').slice(0, 40).join('\n') + '\n{"time'));
            sent = true;
          },
        });
        return new Response(body, { status: 200 });
      };
    });
    await page.goto(query(server));
    await page.waitForSelector('.rows .row');
    await page.evaluate(() => document.dispatchEvent(new Event('break-off')));
    await page.waitForSelector('.failure');
    assert.match(await textOf(page, '.failure'), /Incomplete: 40 records arrived before it failed/);
    assert.equal((await rowsOf(page))[0], logged.at(-1));
    await checkAccessibility(page, 'partial');
    await shot(page, 'partial');
  });

  await t.test('a link to a record whose records are there before the views', async (t) => {
    const page = await open(t, browser, `${server.url}/ready`);
    const at = JSON.parse(logged.at(-3)).time;
    let onRead;
    const read = new Promise((resolve) => (onRead = resolve));
    await page.exposeFunction('recordsRead', onRead);
    await page.evaluateOnNewDocument(() => {
      const real = window.fetch;
      window.fetch = async (...args) => {
        const response = await real(...args);
        if (!String(args[0]).includes('/records')) return response;
        const flush = () => setTimeout(window.recordsRead, 0);
        return new Response(response.body.pipeThrough(new TransformStream({ flush })), { status: response.status });
      };
    });
    await answer(page, 'app.js', (r) => read.then(() => r.continue()));
    await page.goto(query(server, { at: `${BigInt(Date.parse(at)) * 1000000n}` }));
    await page.waitForSelector('.detail');
    assert.equal(await textOf(page, '.detail pre'), logged.at(-3));
  });

  await t.test('over a limit of the server', async (t) => {
    const limited = await serve(t, store, '--max-bytes', '1kB');
    const page = await open(t, browser, query(limited), { expected: [/400/] });
    await page.waitForSelector('.failure');
    assert.match(await textOf(page, '.failure'), /Over a limit/);
    await checkAccessibility(page, 'limit');
    await shot(page, 'limit');
  });

  await t.test('loading', async (t) => {
    const page = await open(t, browser, `${server.url}/ready`);
    let onRequest;
    const requested = new Promise((resolve) => (onRequest = resolve)); // the page asks for an estimate before
    await answer(page, 'records', onRequest);
    await page.goto(query(server));
    await page.waitForSelector('.empty .working');
    assert.equal(await textOf(page, '#found'), 'Loading …');
    await checkAccessibility(page, 'loading');
    await shot(page, 'loading');
    await (await requested).continue();
    await found(page, '500 records');
  });
});
