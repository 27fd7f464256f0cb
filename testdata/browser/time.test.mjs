// Ranges, the comparison with a time before, and two queries on one time axis.

import assert from 'node:assert/strict';
import test from 'node:test';
import { browse, checkAccessibility, found, lines, listed, newStore, open, rowsOf, serve, ship, shots, textOf, textsOf, until } from './lib.mjs';

const hash = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

test('the panel of the range', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(100).join('\n') + '\n');
  const server = await serve(t, store);
  const page = await open(t, await browse(t), `${server.url}/#tz=UTC`);
  await page.waitForSelector('.overview tbody tr');
  const enter = async (text) => {
    await page.keyboard.press('t');
    await page.waitForSelector('#range-text');
    await page.keyboard.type(text);
    await page.keyboard.press('Enter');
    await until(page, () => !document.querySelector('.panel.range'));
  };
  await enter('last 15m');
  assert.equal((await hash(page)).from, 'now-15m');
  await enter('yesterday');
  assert.deepEqual([(await hash(page)).from, (await hash(page)).to], ['now-1d/d', 'now/d']);
  assert.equal(await textOf(page, '#range'), 'Yesterday');
  await enter('-1d/d');
  assert.equal((await hash(page)).from, 'now-1d/d');
  await page.keyboard.press('t');
  await page.type('#range-text', 'soon');
  await page.waitForSelector('#range-text[aria-invalid=true]');
  assert.match(await textOf(page, '#range-remark'), /not a range/);
  await checkAccessibility(page, 'a wrong range');
  await page.$eval('#range-text', (el) => el.select());
  await page.keyboard.press('Backspace');
  await page.click('.range-zone .tabs button:first-child');
  await page.click('.calendar [aria-label="Previous month"]');
  const month = await page.$eval('.calendar .day:not(.other)', (el) => el.dataset.date.slice(0, 7));
  await page.click(`[data-date="${month}-10"]`);
  await page.focus(`[data-date="${month}-10"]`);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await until(page, (date) => document.activeElement.dataset.date === date, `${month}-18`);
  await page.keyboard.press('Enter');
  await until(page, (text) => document.querySelector('#range-to').value.startsWith(text), `${month}-19`);
  assert.equal((await page.$$('.day.inside')).length, 9);
  await checkAccessibility(page, 'calendar');
  await shots(page, 'calendar');
  await page.click('.panel.range .primary');
  await until(page, (text) => location.hash.includes(text), `${month}-10`);
  assert.deepEqual([(await hash(page)).from, (await hash(page)).to], [`${month}-10T00:00:00.000Z`, `${month}-19T00:00:00.000Z`]);
});

test('the time before, and a second query', { timeout: 480_000 }, async (t) => {
  const store = await newStore(t);
  const hour = 36e5;
  const end = Math.floor(Date.now() / hour) * hour - hour;
  const now = lines(600, { seed: 5, minutes: 59, end });
  await ship(store, 'shop', now.join('\n') + '\n');
  await ship(store, 'mail', lines(200, { seed: 6, minutes: 59, errors: 0, end }).join('\n') + '\n');
  await ship(store, 'shop', lines(300, { seed: 7, minutes: 59, end: end - hour }).join('\n') + '\n');
  await ship(store, 'shop', lines(150, { seed: 8, minutes: 59, end: end - 24 * hour }).join('\n') + '\n');
  const server = await serve(t, store);
  const browser = await browse(t);
  const range = { from: new Date(end - hour).toISOString(), to: new Date(end).toISOString(), tz: 'UTC' };
  const at = (more) => `${server.url}/#${new URLSearchParams({ ...range, ...more })}`;
  const page = await open(t, browser, at({ q: '{service_name="shop"}', format: 'raw' }));
  await listed(page, '600');
  await page.keyboard.press('b');
  await page.waitForSelector('.compared');
  assert.match(await textOf(page, '.compared'), /^300 \+100%$/);
  assert.equal((await hash(page)).compare, 'period');
  await page.waitForSelector('path.ghost');
  await page.keyboard.press('h');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('.tip .ghost-dot');
  await checkAccessibility(page, 'comparison');
  await shots(page, 'compare');
  await page.select('#compare', 'day');
  await until(page, () => document.querySelector('.compared')?.textContent.startsWith('150'));
  await page.select('#compare', 'week');
  await until(page, () => document.querySelector('.compared')?.textContent.trim() === '0');
  await page.select('#compare', '');
  await until(page, () => !document.querySelector('path.ghost'));

  await page.click('#split');
  await page.waitForSelector('#query2');
  assert.equal(await page.$eval('#query2', (el) => el.value), '{service_name="shop"}');
  await page.$eval('#query2', (el) => el.select());
  await page.type('#query2', '{service_name="mail"}');
  await page.keyboard.press('Enter');
  await until(page, () => document.querySelector('#found2')?.textContent.includes('200'));
  await page.waitForSelector('#records2 .row:not(.head)');
  assert.deepEqual((await rowsOf(page))[0], now.at(-1), 'the first query is as it was');
  await page.hover('#histogram2');
  await page.waitForSelector('#histogram .cursor');
  await page.hover('#histogram');
  await page.waitForSelector('#histogram2 .cursor');
  await checkAccessibility(page, 'two queries');
  await shots(page, 'split-side');
  await page.click('#split-layout');
  await until(page, () => location.hash.includes('split=stack'));
  await shots(page, 'split-stack');

  // The range is one, also from the second.
  const box = await (await page.$('#histogram2')).boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await until(page, (from) => !location.hash.includes(encodeURIComponent(from)), range.from);
  await until(page, () => !/600/.test(document.querySelector('#found').textContent) && !/200 rec/.test(document.querySelector('#found2').textContent));
  await page.goBack();
  await found(page, '600');

  // A record of the second, and filters of it.
  await page.waitForSelector('#records2 .row:not(.head)');
  await page.click('#records2 .row:not(.head) .message');
  await page.waitForSelector('.detail');
  const value = await textsOf(page, '.detail-fields tr:first-child td bdi');
  assert.deepEqual(value, ['mail']);
  await page.click('.detail-fields [aria-label^="Exclude path"]');
  await until(page, () => document.querySelector('#query2').value.includes('path!='));
  assert.equal(await page.$eval('#query', (el) => el.value), '{service_name="shop"}');
  await page.click('[aria-label="Swap the queries"]');
  await until(page, () => document.querySelector('#query2').value === '{service_name="shop"}' && document.querySelector('#query').value.includes('mail'));

  // A link has all of it; charts share the axis, too.
  const link = page.url();
  const other = await open(t, browser, link);
  await other.waitForSelector('#records2 .row:not(.head)');
  assert.equal(await other.$eval('#query2', (el) => el.value), '{service_name="shop"}');
  await other.goto(at({ q: 'sum by (path) (rate({service_name="shop"} | json [1m]))', q2: '{service_name="mail"}', split: 'stack' }));
  await other.waitForSelector('#chart');
  await other.waitForSelector('#histogram2 path');
  await other.hover('#chart');
  await other.waitForSelector('#histogram2 .cursor');
  await checkAccessibility(other, 'a chart and records');
  await shots(other, 'split-chart');
  await other.click('[aria-label="Close the second query"]');
  await until(other, () => !document.querySelector('#query2'));
});
