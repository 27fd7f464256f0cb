// Lines that try to be more than text.

import assert from 'node:assert/strict';
import test from 'node:test';
import { browse, checkAccessibility, newStore, open, serve, ship, shot, textOf, until } from './lib.mjs';

const mebibyte = 1 << 20;

test('hostile lines stay text', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  const time = new Date(Date.now() - 600_000).toISOString();
  const long = `long ${'abcdefghij '.repeat(mebibyte / 11)}`.slice(0, mebibyte - 40);
  const hostile = [
    ['html', '<img src=x onerror="window.pwned=1"><b>bold</b><style>body{display:none}</style>'],
    ['script', '<script>window.pwned=2</script><iframe src="//example.com"></iframe>'],
    ['json', JSON.stringify({ msg: '<svg onload=window.pwned=3>', '__proto__': { polluted: 'yes' }, constructor: 'c', '<b>key</b>': '"><script>window.pwned=4</script>', url: 'javascript:window.pwned=5' })],
    ['ansi', '\u001b[31mred\u001b[0m \u001b]8;;http://example.com\u0007link\u001b]8;;\u0007 bell\u0007 nul\u0000 del\u007f'],
    ['direction', 'admin \u202egnp.exe\u202c \u2066isolated\u2069 \u200f\u05e9\u05dc\u05d5\u05dd end'],
    ['width', 'zero\u200bwidth\ufeff soft\u00adhyphen line\u2028separator'],
    ['template', '${7*7} {{7*7}} `ticks` \' " \\ %s'],
    ['long', long],
  ];
  const bytes = [...hostile.map(([, text]) => Buffer.from(`${time} INFO ${text}\n`)), Buffer.concat([Buffer.from(`${time} INFO invalid `), Buffer.from([0xff, 0xfe, 0xc3, 0x28]), Buffer.from(' end\n')])];
  await ship(store, 'hostile', Buffer.concat(bytes));
  const server = await serve(t, store);
  const browser = await browse(t);
  const page = await open(t, browser, `${server.url}/#${new URLSearchParams({ q: '{service_name="hostile"}', order: 'oldest' })}`);
  await until(page, (n) => document.querySelectorAll('.rows .row').length === n, bytes.length);
  await shot(page, 'hostile');
  await checkAccessibility(page, 'hostile lines');
  const row = (i) => textOf(page, `#record-${i} .message`);
  assert.ok((await row(0)).endsWith(hostile[0][1]));
  assert.ok((await row(1)).endsWith(hostile[1][1]));
  assert.ok((await row(2)).endsWith(hostile[2][1]));
  assert.match(await row(3), /^red \\e\]8;;.*link\\e\]8;;.* bell\\a nul\\0 del\\x7f$/);
  assert.match(await row(4), /admin U\+202Egnp\.exeU\+202C U\+2066isolatedU\+2069 U\+200Fשלום end$/);
  assert.match(await row(5), /zeroU\+200Bwidth ?U\+FEFF soft\\xadhyphen lineU\+2028separator$/);
  assert.match(await row(7), /… cut$/);
  assert.match(await row(8), /invalid \ufffd\ufffd\ufffd\( end$/);
  await page.click('#format');
  await until(page, () => document.querySelector('#record-3 .message').textContent.includes('INFO'));
  assert.match(await row(3), /\\e\[31mred\\e\[0m .* bell\\a nul\\0 del\\x7f$/);
  await page.click('#format');
  await until(page, () => !document.querySelector('#record-3 .message').textContent.includes('INFO'));
  assert.ok((await row(7)).length < 5000, 'a long line is not in the list');

  for (let i = 0; i < bytes.length; i++) {
    await page.click(`#record-${i}`);
    await until(page, (n) => document.querySelector(`#record-${n}`).classList.contains('selected') && document.querySelector('.detail'), i);
    if (i === 2) await checkAccessibility(page, 'a hostile record');
  }
  await shot(page, 'hostile-record');
  assert.match(await textOf(page, '.detail-message .remark'), /not UTF-8/);

  await page.click('#record-7');
  await page.waitForSelector('#show-all');
  assert.match(await textOf(page, '.detail-message'), /of 1\.0 MB are shown/);
  await page.click('#show-all');
  await until(page, (n) => document.querySelector('.detail pre').textContent.length >= n, mebibyte - 40);
  assert.ok((await textOf(page, '.detail pre')).endsWith(long.trim().slice(-100)));
  await shot(page, 'long');

  const state = await page.evaluate(() => ({
    pwned: window.pwned, polluted: {}.polluted, markup: document.querySelectorAll('.rows b, .rows img, .rows script, .rows iframe, .rows .message svg, .rows style, .detail pre *:not(bdi, mark, .control, [class^=ansi-])').length,
    scripts: [...document.scripts].map((s) => s.src).filter((src) => !src.startsWith(location.origin + '/assets/')),
    inline: document.documentElement.outerHTML.match(/\son\w+=/gi)?.length || 0,
  }));
  assert.equal(state.pwned, undefined);
  assert.equal(state.polluted, undefined);
  assert.equal(state.markup, 0);
  assert.deepEqual(state.scripts, []);

  // The text that was logged, byte for byte.
  const raw = await fetch(`${server.url}/logstow/api/v1/records?${new URLSearchParams({ query: '{service_name="hostile"}', format: 'raw', direction: 'forward' })}`);
  assert.deepEqual(Buffer.from(await raw.arrayBuffer()), Buffer.concat(bytes));

  // A hostile link: what the fragment has is text too.
  const link = await open(t, browser, `${server.url}/#${new URLSearchParams({ q: '"><img src=x onerror=window.pwned=6>', cols: '<b>x</b>,__proto__', by: '<img>', at: '-1', tz: 'No/Zone', from: '<script>' })}`, { expected: [/400/] });
  await until(link, () => document.querySelector('.failure, .empty'));
  assert.equal(await link.evaluate(() => window.pwned), undefined);
  await shot(link, 'hostile-link');
});
