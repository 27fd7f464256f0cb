// What the page says when nothing is found or a query is wrong, its corrections, and the case of words.

import assert from 'node:assert/strict';
import test from 'node:test';
import { ask, browse, checkAccessibility, found, lines, listed, newStore, open, serve, ship, shot, textOf, textsOf, until } from './lib.mjs';

const at = (server, q, more = {}) => `${server.url}/#${new URLSearchParams({ q, ...more })}`;

/** correction clicks the correction whose label contains a text. */
async function correction(page, label) {
  await until(page, (want) => [...document.querySelectorAll('.correction')].some((el) => el.textContent.includes(want)), label);
  await page.evaluate((want) => [...document.querySelectorAll('.correction')].find((el) => el.textContent.includes(want)).click(), label);
}

const queryOf = (page) => page.$eval('#query', (el) => el.value);

test('corrections', { timeout: 600_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(500, { errors: 0.2 }).join('\n') + '\n');
  const old = Date.now() - 5 * 864e5;
  await ship(store, 'billing', lines(20, { seed: 2, end: old }).join('\n') + '\n');
  const server = await serve(t, store);
  const browser = await browse(t);

  for (const [typed, reason, label, becomes] of [
    ['{service_name="shpo"}', /service "shpo" does not exist; nearest: shop/, 'Service shop', '{service_name="shop"}'],
    ['level:error', /"level:error" was searched as text/, 'Level error', '{level="error"}'],
    ['status=503', /"status=503" was searched as text/, 'status = 503', '{service_name=~".+"} | json | status == 503'],
    ['upstream AND failed', /"AND" was searched as text/, 'Leave out AND', 'upstream failed'],
    ['{service_name="shop"} | status=503', /field status of the messages is a label only after \| json/, 'Parse with | json', '{service_name="shop"} | json | status == 503'],
    ['{service_name="shop"} | json | statsu=503', /nearest: status/, 'status instead of statsu', '{service_name="shop"} | json | status == 503'],
    ['{service_name="shop"} |= "UPSTREAM"', /\d+ records contain "UPSTREAM" in another case/, 'Ignore case', '{service_name="shop"} |~ "(?i)UPSTREAM"'],
    ['{service_name="shop"} | json | path="/BUY"', /nearest: \/buy/, 'path = /buy', '{service_name="shop"} | json | path="/buy"'],
  ]) {
    await t.test(`nothing: ${typed}`, async (t) => {
      const page = await open(t, browser, at(server, typed));
      await page.waitForSelector('.reasons li');
      assert.match(await textOf(page, '.empty'), reason);
      await checkAccessibility(page, typed);
      await correction(page, label);
      await listed(page, 'records');
      assert.equal(await queryOf(page), becomes);
      assert.equal((await page.$$('.empty')).length, 0);
    });
  }

  await t.test('a range without records', async (t) => {
    const page = await open(t, browser, at(server, '{service_name="billing"}'));
    await page.waitForSelector('.reasons li');
    assert.match(await textOf(page, '.reasons'), /the range has no records; the newest record is from .* \(billing\)/);
    await correction(page, 'Last 6d');
    await listed(page, '20 records');
    assert.match(page.url(), /from=now-6d/);
  });

  await t.test('a mistake has one message, its place, and its correction', async (t) => {
    const page = await open(t, browser, at(server, '{service_name="shop"} |= upstream'), { expected: [/400/] });
    await page.waitForSelector('.failure .correction');
    assert.equal((await page.$$('[role=alert]')).length, 1);
    assert.match(await textOf(page, '.failure'), /unexpected "upstream", expected text of a line filter in quotes/);
    assert.equal(await textOf(page, '.place mark'), 'upstream');
    const [mark, area] = await page.evaluate(() => {
      const box = (el) => el.getBoundingClientRect();
      return [box(document.querySelector('.place mark')), box(document.querySelector('#query'))].map(({ left, right, top, bottom }) => ({ left, right, top, bottom }));
    });
    assert.ok(mark.left > area.left && mark.right < area.right && mark.top >= area.top && mark.bottom <= area.bottom, 'the mark is in the query bar');
    await checkAccessibility(page, 'mistake');
    await page.type('#query', ' ');
    assert.equal((await page.$$('.place mark')).length, 0, 'not of another text');
    await page.keyboard.press('Backspace');
    await correction(page, '|= "upstream"');
    await listed(page, 'records');
    assert.equal(await queryOf(page), '{service_name="shop"} |= "upstream"');
    const patterns = await open(t, browser, `${at(server, '{service_name="shop"} |= upstream')}&view=patterns`, { expected: [/400/] });
    await patterns.waitForSelector('.failure');
    await until(patterns, () => !document.querySelector('.working'));
    assert.equal((await patterns.$$('[role=alert]')).length, 1, 'in the view of patterns, too');
    assert.equal(await patterns.evaluate(() => document.querySelectorAll('#found')[0].textContent), '', 'and no number of records');
  });

  await t.test('words in any case, or in theirs', async (t) => {
    const page = await open(t, browser, at(server, ''));
    await page.waitForSelector('#case');
    await ask(page, 'UPSTREAM');
    await listed(page, 'records');
    const count = await textOf(page, '#found');
    assert.ok((await page.$$('.message mark')).length > 0, 'highlighted in another case');
    await page.click('#case');
    await page.waitForSelector('.empty');
    assert.match(page.url(), /case=1/);
    assert.equal(await page.$eval('#case', (el) => el.ariaPressed), 'true');
    await correction(page, 'Ignore case');
    await found(page, count);
    assert.doesNotMatch(page.url(), /case=1/);
    await listed(page, 'records');
    await page.focus('#records');
    await page.keyboard.press('a');
    await page.waitForSelector('.empty');
    const link = page.url();
    const other = await open(t, browser, `${server.url}/ready`);
    await other.goto(link);
    await other.waitForSelector('.empty .correction');
    assert.match((await textsOf(other, '.runs-as')).join(), /\|= "UPSTREAM"/);
    await ask(other, '{service_name="shop"}');
    await listed(other, 'records');
    assert.equal(await other.$eval('#case', (el) => el.disabled), true);
    await other.focus('#records');
    await other.keyboard.press('?');
    await other.waitForSelector('dialog');
    assert.match(await textOf(other, 'dialog'), /match the case of words/);
  });

  await t.test('pictures', async (t) => {
    for (const theme of ['light', 'dark']) {
      for (const width of [400, 1280, 2500]) {
        const empty = await open(t, browser, at(server, 'level:error AND status=503 shpo'), { width, theme });
        await empty.waitForSelector('.reasons li');
        await shot(empty, `empty-${theme}-${width}`);
        await checkAccessibility(empty, `empty ${theme} ${width}`);
        const wrong = await open(t, browser, at(server, '{service_name="shop"} |= upstream failed'), { width, theme, expected: [/400/] });
        await wrong.waitForSelector('.failure .correction');
        await shot(wrong, `mistake-${theme}-${width}`);
        await checkAccessibility(wrong, `mistake ${theme} ${width}`);
        assert.equal(await wrong.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, 'wider than the window');
        await empty.close();
        await wrong.close();
      }
    }
  });
});
