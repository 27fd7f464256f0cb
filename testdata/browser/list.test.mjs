// The list and the context: what they leave out, how they wrap, expand and sort.

import assert from 'node:assert/strict';
import test from 'node:test';
import { browse, checkAccessibility, listed, newStore, open, random, rowsOf, serve, ship, shot, shots, textOf, until } from './lib.mjs';
import { Heights } from '../../serve/page/static/heights.js';
import { coloursOf } from '../../serve/page/static/ansi.js';
import { sorted } from '../../serve/page/static/fields.js';

test('heights: where rows are, and which is at a place', () => {
  const rnd = random(Number(process.env.SEED) || 7);
  const heights = new Heights(22);
  const all = new Array(5000).fill(22);
  for (let i = 0; i < 3000; i++) {
    const row = Math.floor(rnd() * (i < 1500 ? 900 : 5000));
    const height = 22 + Math.floor(rnd() * 4) * 20;
    assert.equal(heights.set(row, height), all[row] !== height);
    all[row] = height;
  }
  for (let row = 0, top = 0; row < all.length; top += all[row++]) {
    assert.equal(heights.top(row), top);
    assert.equal(heights.at(top), row);
    assert.equal(heights.at(top + all[row] - 1), row);
  }
  assert.equal(heights.at(heights.top(100_000)), 100_000);
});

test('colours of terminals are spans, and nothing else of a sequence is left', () => {
  const of = (text) => coloursOf(text).spans.map(({ start, end, style }) => `${coloursOf(text).text.slice(start, end)}:${style}`);
  assert.deepEqual(of('a \u001b[31mred\u001b[0m b'), ['red:ansi-red']);
  assert.deepEqual(of('\u001b[1;32mok\u001b[22m still\u001b[m none'), ['ok:ansi-green ansi-bold', ' still:ansi-green']);
  assert.deepEqual(of('\u001b[38;5;196mx\u001b[48;2;0;0;255my\u001b[39mz'), ['x:ansi-red', 'y:ansi-red ansi-on-blue', 'z:ansi-on-blue']);
  assert.deepEqual(of('\u001b[38mx\u001b[38;2mx\u001b[38;5mx\u001b[999;;mx\u001b[Kx'), []);
  assert.equal(coloursOf('\u001b[31ma\u001b[Kb\u001b[2Jc').text, 'ab\u001b[2Jc');
  const many = '\u001b[31mx'.repeat(5000);
  assert.ok(coloursOf(many).spans.length <= 1001);
  assert.ok(coloursOf(many).text.length > 1000, 'the rest is text');
});

test('records by a column', () => {
  const records = ['10', '9', undefined, 'x', '9'].map((n, i) => ({ line: '', i, level: ['info', 'error', 'warn', 'unknown', 'fatal'][i], fields: n === undefined ? {} : { n } }));
  const by = (column) => sorted(records, column).map((one) => one.i);
  assert.deepEqual(by('n'), [1, 4, 0, 3, 2]);
  assert.deepEqual(by('-n'), [3, 0, 1, 4, 2]);
  assert.deepEqual(by('level'), [3, 0, 2, 1, 4]);
  assert.equal(sorted(records, ''), records);
});

test('text without time and level, whole records, columns that sort, and the context', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  const n = 400;
  const end = Date.now() - 60_000;
  const texts = Array.from({ length: n }, (_, i) => (i % 7 ? `GET /cart/${i} took ${i % 50}ms` : `\u001b[1;31mfailed\u001b[0m order ${i}: ${'the queue of the warehouse is full, '.repeat(8).trim()}`));
  const logged = texts.map((text, i) => `${new Date(end - (n - i) * 1000).toISOString()} ${i % 7 ? 'INFO' : 'ERROR'} ${text}`);
  await ship(store, 'shop', logged.join('\n') + '\n');
  const { url } = await serve(t, store);
  const browser = await browse(t);
  const plain = (text) => coloursOf(text).text;
  const page = await open(t, browser, `${url}/#${new URLSearchParams({ q: '{service_name="shop"}' })}`);
  await listed(page, `${n} records`);
  assert.deepEqual((await rowsOf(page)).slice(0, 20), texts.toReversed().slice(0, 20).map(plain));
  assert.equal(await textOf(page, '#records .ansi-red'), 'failed');
  await checkAccessibility(page, 'list');
  await shots(page, 'list');

  await page.focus('#records');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const before = await page.$eval('#record-3', (row) => row.getBoundingClientRect().top);
  await page.keyboard.press(' ');
  await until(page, () => document.querySelector('#record-1.whole .pairs'));
  await until(page, (top) => document.querySelector('#record-3').getBoundingClientRect().top > top + 10, before);
  await checkAccessibility(page, 'whole record');
  await shots(page, 'list-expanded');
  await page.click('#record-1 .time', { offset: { x: 6, y: 9 } });
  await until(page, (top) => document.querySelector('#record-3').getBoundingClientRect().top === top, before);

  await page.click('#lines');
  await page.click('#lines');
  await until(page, () => document.querySelector('#records.lines-all'));
  for (const place of [0.3, 0.7, 1]) {
    await page.$eval('#records', (list, part) => (list.scrollTop = list.scrollHeight * part), place);
    await until(page, () => {
      const rows = [...document.querySelectorAll('#records .rows .row')].map((row) => row.getBoundingClientRect());
      return rows.length > 5 && rows.every((row, i) => !i || Math.abs(row.top - rows[i - 1].bottom) < 1);
    });
  }
  await until(page, (text) => [...document.querySelectorAll('#records .row .message')].at(-1).textContent === text, plain(texts[0]));
  await shot(page, 'list-all');

  await page.click('.row.head .level .sort');
  await page.click('.row.head .level .sort');
  await until(page, () => location.hash.includes('sort=-level'));
  await until(page, () => document.querySelector('#record-0')?.classList.contains('level-error'));
  await page.click('#record-0 .message');
  await page.waitForSelector('.detail');
  const record = await textOf(page, '.detail pre');
  assert.equal(record, plain(logged[n - 1 - ((n - 1) % 7)]));
  assert.equal(await page.$eval('#record-0', (row) => row.ariaSelected), 'true');
  await page.click('#tab-context');
  await page.waitForSelector('.context .row.own');
  await until(page, () => {
    const [list, own] = ['#context-records', '.context .row.own'].map((one) => document.querySelector(one).getBoundingClientRect());
    return own.top > list.top && own.bottom < list.bottom;
  });
  await until(page, (logged) => {
    const shown = [...document.querySelectorAll('.context .row .message')].map((el) => el.textContent.trim());
    return shown.length > 5 && shown.every((text) => logged.includes(text));
  }, texts.map(plain));
  const place = () => page.$eval('.context .row.own', (row) => Math.round(row.getBoundingClientRect().top));
  const was = await place();
  await page.click('#context-before');
  await until(page, () => document.querySelector('#context-records').ariaRowCount > 100);
  await until(page, (top) => Math.abs(document.querySelector('.context .row.own').getBoundingClientRect().top - top) < 3, was);
  await checkAccessibility(page, 'context');
  await shots(page, 'list-context');
});
