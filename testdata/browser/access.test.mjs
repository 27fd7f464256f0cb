// The page with tokens, by keyboard alone, at all widths, and live.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { browse, checkAccessibility, child, found, lines, logged, logq, newStore, open, rowsOf, serve, ship, shot, textOf, textsOf, until } from './lib.mjs';

test('login', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(50).join('\n') + '\n');
  await ship(store, 'secret', lines(50, { seed: 2 }).join('\n') + '\n');
  const tokens = path.join(store.dir, 'tokens.yaml');
  const secret = 'a-token-of-the-test';
  await writeFile(tokens, `- {name: team, sha256: ${createHash('sha256').update(secret).digest('hex')}, services: [shop]}\n`, { mode: 0o600 });
  const server = await serve(t, store, '--tokens', tokens);
  const page = await open(t, await browse(t), `${server.url}/`, { expected: [/401/] });
  await page.waitForSelector('#token');
  await checkAccessibility(page, 'login');
  await shot(page, 'login');
  await page.type('#token', 'wrong');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[role=alert]');
  assert.match(await textOf(page, '[role=alert]'), /not valid/);
  await page.click('#token', { count: 3 });
  await page.type('#token', secret);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.overview tbody tr');
  assert.deepEqual(await textsOf(page, '.overview tbody th'), ['shop']);
  assert.equal(await page.evaluate(() => document.cookie), '', 'scripts cannot read the cookie');
});

test('keyboard only', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(2000).join('\n') + '\n');
  const server = await serve(t, store);
  const page = await open(t, await browse(t), `${server.url}/#format=raw`);
  await page.waitForSelector('.overview tbody tr');
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const active = () => page.evaluate(() => document.activeElement.id || document.activeElement.className);
  await press('?');
  await page.waitForSelector('dialog[open]');
  await checkAccessibility(page, 'help');
  await shot(page, 'help');
  await press('Escape');
  await until(page, () => !document.querySelector('dialog'));
  await press('/');
  assert.equal(await active(), 'query');
  await page.keyboard.type('upstream');
  await press('Enter');
  await page.waitForSelector('.rows .row');
  await press('Escape', 's');
  await page.waitForSelector('.panel.services li');
  await press('Tab', 'Space', 'Escape');
  await until(page, () => document.querySelector('#query').value.includes('service_name="shop"'));
  assert.equal(await active(), 'services');
  await page.waitForSelector('.rows .row');
  await until(page, () => document.querySelector('.legend li'));
  await press('h');
  assert.equal(await active(), 'histogram');
  const before = await page.evaluate(() => location.hash);
  const many = await textOf(page, '#found');
  await press('End', ...Array(20).fill('ArrowLeft'));
  await page.keyboard.down('Shift');
  await press(...Array(10).fill('ArrowLeft'));
  await page.keyboard.up('Shift');
  await press('Enter');
  await until(page, (hash) => location.hash !== hash && location.hash.includes('from=20'), before);
  await until(page, (text) => document.querySelector('#records')?.ariaBusy === 'false' && document.querySelector('#found').textContent.trim() !== text, many);
  await page.focus('#records');
  await press('j', 'j', 'ArrowDown', 'Enter');
  await page.waitForSelector('.detail');
  const rows = await rowsOf(page);
  assert.equal(await textOf(page, '.detail pre'), rows[2]);
  await press('c');
  await page.waitForSelector('.context .row.own');
  await press('Escape');
  await until(page, () => !document.querySelector('.detail'));
  assert.equal(await active(), 'records');
  await press('e');
  await page.waitForSelector('.panel.columns');
  await page.keyboard.type('status');
  await press('Enter', 'Escape');
  await until(page, () => [...document.querySelectorAll('.row.head .cell')].some((c) => c.textContent === 'status'));
  await press('p');
  await page.waitForSelector('.patterns tbody tr');
  await press('p', 't');
  await page.waitForSelector('.panel.range');
  await press('Escape');
  // Every element that Tab reaches is visible and shows its focus.
  const seen = new Set();
  for (let i = 0; i < 60; i++) {
    await press('Tab');
    const at = await page.evaluate(() => {
      const el = document.activeElement;
      const box = el.getBoundingClientRect();
      const style = getComputedStyle(el);
      return { tag: el.tagName, name: el.id || el.textContent.slice(0, 30), visible: box.width > 0 && box.height > 0, outline: style.outlineStyle !== 'none' };
    });
    if (at.tag === 'BODY') continue;
    assert.ok(at.visible && at.outline, JSON.stringify(at));
    seen.add(at.name);
  }
  assert.ok(seen.size > 30, `${seen.size} elements`);
});

test('all widths, dark and light', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(1000).join('\n') + '\n');
  await ship(store, 'a-service-with-a-rather-long-name', lines(300, { seed: 4 }).join('\n') + '\n');
  const server = await serve(t, store);
  const browser = await browse(t);
  for (const theme of ['light', 'dark']) {
    for (const width of [400, 700, 1000, 1600, 2500]) {
      for (const [name, state] of [['first', {}], ['list', { q: '{service_name=~".+"}', cols: 'status' }], ['record', { q: '{service_name=~".+"}' }]]) {
        const page = await open(t, browser, `${server.url}/#${new URLSearchParams(state)}`, { width, height: width < 800 ? 800 : 900, theme });
        await page.waitForSelector('.overview tbody tr, .rows .row');
        await until(page, () => document.querySelector('.legend li'));
        await until(page, () => document.querySelector('#cost')?.textContent.includes('segment') && document.querySelector('#records')?.ariaBusy !== 'true'); // what may move the rows
        if (name === 'record') {
          await page.click('.rows .row:nth-child(2) .message');
          await page.waitForSelector('.detail');
        }
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.equal(beyond, 0, `${name} at ${width} scrolls sideways`);
        const cut = await page.$$eval('.top button, .toolbar button', (all) => all.map((el) => [el.id || el.title, el.getBoundingClientRect()]).filter(([, b]) => b.width && (b.right > innerWidth + 1 || b.left < -1)).map(([id]) => id));
        assert.deepEqual(cut, [], `${name} at ${width}`);
        await checkAccessibility(page, `${name} at ${width}, ${theme}`);
        await shot(page, `${name}-${width}-${theme}`);
        await page.close();
      }
    }
  }
});

test('the theme that was chosen replaces that of the system, also later', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(50).join('\n') + '\n');
  const server = await serve(t, store);
  const browser = await browse(t);
  const dark = await open(t, browser, `${server.url}/`, { theme: 'dark' });
  const page = await open(t, browser, `${server.url}/`);
  const background = async (of) => {
    await of.waitForSelector('.overview tbody tr');
    return of.evaluate(() => getComputedStyle(document.body).backgroundColor);
  };
  const [light, night] = [await background(page), await background(dark)];
  assert.notEqual(light, night);
  await page.bringToFront();
  await page.keyboard.press('v');
  assert.equal(await background(page), night);
  await page.reload();
  assert.equal(await background(page), night);
  await page.keyboard.press('v');
  assert.equal(await background(page), light);
});

test('live tail of a running shipper, and refresh', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  const file = path.join(store.dir, 'app.log');
  let last = 0; // lines of one time are in the order of their streams
  const line = (n) => `${new Date((last = Math.max(last + 1, Date.now()))).toISOString()} ${n % 5 ? 'INFO' : 'ERROR'} event number ${n}\n`;
  await writeFile(file, '');
  const shipper = child(t, store, 'shipper', ['run', '--from-start', '--service', 'app', '--flush-interval', '1s', file]);
  await logged(shipper, /"started"/);
  await appendFile(file, line(0));
  // The store exists once something is stored; until then the page shows an error. --from-start: files are found after "started".
  while (!(await logq(store, 'services').catch(() => ''))) await new Promise((resolve) => setTimeout(resolve, 100));
  const server = await serve(t, store);
  const browser = await browse(t);
  const page = await open(t, browser, `${server.url}/#${new URLSearchParams({ q: '{service_name="app"}', live: '1' })}`);
  const shows = (n) => until(page, (want) => [...document.querySelectorAll('.rows .message')].some((el) => el.textContent.endsWith(want)), `event number ${n}`);
  await shows(0);
  for (let n = 1; n <= 12; n++) await appendFile(file, line(n));
  await shows(12);
  const shown = (await rowsOf(page)).map((text) => Number(text.split(' ').pop()));
  assert.deepEqual(shown, Array.from({ length: 13 }, (_, n) => n), 'each once, in order');
  await found(page, 'Following');
  await checkAccessibility(page, 'live');
  await shot(page, 'live');
  await page.keyboard.press('l');
  await found(page, '13 records');
  // The same without a websocket.
  const other = await open(t, browser, `${server.url}/#${new URLSearchParams({ q: '{service_name="app"}', refresh: '5s' })}`);
  await found(other, '13 records');
  await appendFile(file, line(13));
  await found(other, '14 records');
});

test('live tail after its connection broke', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'other', lines(1).join('\n') + '\n');
  const server = await serve(t, store);
  const page = await open(t, await browse(t), `${server.url}/`);
  await page.evaluateOnNewDocument(() => {
    window.sockets = [];
    window.WebSocket = class {
      constructor(url) {
        this.parameters = Object.fromEntries(new URL(url).searchParams);
        window.sockets.push(this);
        setTimeout(() => this.onopen());
      }
      close() {}
      send(...times) {
        this.onmessage({ data: JSON.stringify({ streams: [{ stream: { service_name: 'app' }, values: times.map((time) => [String(time) + '000000000', `event at ${time}`, {}]) }] }) });
      }
    };
  });
  await page.goto(`${server.url}/#${new URLSearchParams({ q: '{service_name="app"}', live: '1' })}`);
  await page.reload();
  const socket = (n) => until(page, (want) => window.sockets.length === want, n);
  const send = (...times) => page.evaluate((all) => window.sockets.at(-1).send(...all), times);
  const breakOff = () => page.evaluate(() => window.sockets.at(-1).onclose({ reason: '' }));
  const parameters = () => page.evaluate(() => window.sockets.at(-1).parameters);
  await socket(1);
  assert.equal((await parameters()).limit, '500');
  await send(4_000_000_001, 4_000_000_009);
  await send(4_000_000_005); // stored later than the newest
  await breakOff();
  await socket(2);
  assert.deepEqual([(await parameters()).limit, (await parameters()).start], ['5000', '3999992809000000000']); // two hours before the newest
  await send(4_000_000_001, 4_000_000_003, 4_000_000_005); // one was stored late meanwhile
  await send(4_000_000_005, 4_000_000_009, 4_000_000_010);
  await send(4_000_000_010);
  await found(page, 'Following · 7 records');
  assert.deepEqual(await rowsOf(page), [1, 9, 5, 3, 5, 10, 10].map((n) => `event at 40000000${String(n).padStart(2, '0')}`));
  assert.doesNotMatch(await textOf(page, '#found'), /missing/);
  await breakOff();
  await socket(3);
  await send(4_000_000_004, 4_000_000_005, 4_000_000_005, 4_000_000_009, 4_000_000_010, 4_000_000_010); // the first ones are not among the newest 5,000
  await found(page, 'Following · 8 records · records before 07:06:44 UTC that were stored late may be missing');
  await breakOff();
  await socket(4);
  await send(4_000_000_061, 4_000_000_062);
  await found(page, 'Following · 10 records · records are missing before 07:07:41 UTC');
});

test('watched live tail of a shipper that flushes once a minute', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'other', lines(1).join('\n') + '\n');
  const file = path.join(store.dir, 'app.log');
  await writeFile(file, '');
  const shipper = child(t, store, 'shipper', ['run', '--from-start', '--service', 'app', '--flush-interval', '1m', file]);
  await logged(shipper, /"started"/);
  const server = await serve(t, store, '--watch');
  const page = await open(t, await browse(t), `${server.url}/#${new URLSearchParams({ q: '{service_name="app"}', live: '1' })}`);
  await until(page, () => document.body.textContent.includes('by default within a minute of being logged'));
  for (let n = 0; n < 3; n++) {
    await appendFile(file, `event number ${n}\n`);
    await until(page, (want) => [...document.querySelectorAll('.rows .message')].some((el) => el.textContent.endsWith(want)), `event number ${n}`);
  }
  await found(page, 'Following · shippers flush early');
  await checkAccessibility(page, 'watched');
});
