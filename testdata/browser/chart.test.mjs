// Charts: axes, units, colours, CSV; and how the page draws them.

import assert from 'node:assert/strict';
import test from 'node:test';
import { browse, checkAccessibility, lines, newStore, open, serve, ship, shots, textOf, textsOf, until } from './lib.mjs';
import { timeRows, toCSV } from '../../serve/page/static/csv.js';
import { coloured } from '../../serve/page/static/levels.js';
import { logPart, withoutUnwrap } from '../../serve/page/static/logql.js';
import { roundStep, timeTicks, valueScale } from '../../serve/page/static/scale.js';
import { divided, formatValue, guessUnit } from '../../serve/page/static/units.js';

test('axes have round ticks and even times', () => {
  for (const [n, want] of [[1, 1], [1.1, 2], [3, 5], [7, 10], [0.3, 0.5], [1e-9, 1e-9], [2e8, 2e8], [0.07, 0.1]]) assert.equal(roundStep(n), want, String(n));
  assert.deepEqual(valueScale({ max: 7 }).ticks, [0, 2, 4, 6, 8]);
  assert.deepEqual(valueScale({ max: 1, whole: true }).ticks, [0, 1]);
  assert.deepEqual(valueScale({ min: -3, max: 5 }).ticks, [-4, -2, 0, 2, 4, 6]);
  assert.equal(valueScale({ max: 0 }).ticks[0], 0);
  const log = valueScale({ max: 5000, least: 3, log: true });
  assert.deepEqual(log.ticks, [1, 10, 100, 1000, 10000]);
  assert.deepEqual([0, 1, 100, 10000].map(log.at), [0, 0, 0.5, 1]);
  for (const max of [1e-12, 0.1, 1, 12, 1e15]) {
    for (const kind of [false, true]) {
      const { ticks, at } = valueScale({ max, least: max / 1e4, log: kind });
      assert.ok(ticks.length >= 2 && ticks.length < 9 && ticks.every((v) => at(v) >= 0 && at(v) <= 1) && at(max) > 0.2 && at(max) <= 1, `${max}: ${ticks}`);
    }
  }
  const from = Date.UTC(2026, 10, 20, 15, 4, 5);
  const { apart, all } = timeTicks({ from, to: from + 36e5 }, 'UTC', 800);
  assert.equal(apart, 6e5);
  assert.deepEqual(all.map((t) => new Date(t).getUTCMinutes()), [10, 20, 30, 40, 50, 0]);
});

test('units are guessed from the query', () => {
  for (const [query, want] of [
    ['sum(rate({a="b"}[5m]))', '/s'], ['sum(count_over_time({a="b"}[5m]))', 'none'], ['bytes_rate({a="b"}[5m])', 'B/s'], ['bytes_over_time({a="b"}[5m])', 'B'],
    ['avg_over_time({a="b"} | json | unwrap took_ms [5m])', 'ms'], ['quantile_over_time(0.9, {a="b"} | unwrap duration(took) [5m])', 's'],
    ['max_over_time({a="b"} | unwrap response_bytes [5m])', 'B'], ['rate({a="b"} | unwrap bytes [1m])', 'B/s'], ['sum(rate({a="b"}[5m])) / sum(rate({a="c"}[5m]))', 'none'],
    ['100 * sum(rate({a="b"}[5m])) / sum(rate({a="c"}[5m]))', '%'], ['sum(count_over_time({a="x/(y"} | json | unwrap took_ms [5m]))', 'none'], ['avg_over_time({a="b"} | unwrap ratio [5m])', 'none'],
  ]) assert.equal(guessUnit(query), want, query);
  for (const [value, unit, want] of [[1500, 'ms', '1.5 s'], [0.25, 'ms', '250 µs'], [90, 's', '90 s'], [5400, 's', '1.5 h'], [1200, 's', '20 min'], [2500000, 'B', '2.5 MB'], [12, '/s', '12/s'], [0, 'ms', '0'], [NaN, 'B', '–'], [-1500, 'B/s', '-1.5 kB/s']])
    assert.equal(formatValue(value, unit), want);
  assert.deepEqual(divided('B', 3e6), { by: 1e6, suffix: ' MB' });
});

test('colours of statuses are those of their class', () => {
  const of = (by, ...names) => coloured(by, names.map((name) => ({ name }))).map((one) => one.colour);
  assert.deepEqual(of('status', '200', '404', '503', '500', ''), ['status-2 shade-0', 'status-4 shade-0', 'status-5 shade-1', 'status-5 shade-0', 'series-other']);
  assert.ok(of('status', '200', 'ok').every((one) => one.startsWith('series-')));
  assert.ok(of('n', '200', '404').every((one) => one.startsWith('series-')));
});

test('CSV: quotes, formulas, times', () => {
  assert.equal(toCSV([['a', 'b"c', '=1+2'], [1.5, undefined, '-7']]), 'a,"b""c",\'=1+2\r\n1.5,,-7\r\n');
  assert.deepEqual(timeRows([{ name: 'x', points: new Map([[1000, 1]]) }, { name: '', points: new Map([[0, 2]]) }]), [['time', 'x', 'others'], ['1970-01-01T00:00:00.000Z', undefined, 2], ['1970-01-01T00:00:01.000Z', 1, undefined]]);
});

test('the log query in a metric query', () => {
  const query = 'sum by (a) (avg_over_time({b="[{"} |= "x[" | json | unwrap took_ms [5m])) / sum(rate({c="d"}[1m]))';
  assert.equal(logPart(query), '{b="[{"} |= "x[" | json | unwrap took_ms');
  assert.equal(withoutUnwrap(logPart(query)), '{b="[{"} |= "x[" | json');
  assert.equal(logPart('vector(1)'), '');
  assert.equal(logPart('{a="b"} |= "c"'), '{a="b"} |= "c"');
});

test('a metric query: chart, table and records', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'shop', lines(1200, { seed: 3 }).join('\n') + '\n');
  const { url } = await serve(t, store);
  const page = await open(t, await browse(t), `${url}/#${new URLSearchParams({ q: 'sum by (status) (count_over_time({service_name="shop"} | json [1m]))' })}`);
  await page.waitForSelector('.metric tbody tr');
  await page.waitForSelector('.metric-records .rows .row');
  assert.deepEqual((await textsOf(page, '.series-name')).toSorted(), ['200', '503']);
  assert.equal(await textOf(page, '.metric-records h2'), 'Records of {service_name="shop"} | json');
  await page.$eval('#chart', (svg) => svg.focus());
  await page.keyboard.press('ArrowRight');
  for (let i = 0; i < 30; i++) await page.keyboard.press('ArrowRight');
  await until(page, () => document.querySelectorAll('.chart .tip-row').length === 2);
  await checkAccessibility(page, 'metric');
  await shots(page, 'metric');
  const drawn = () => page.$$eval('.chart path', (all) => all.map((one) => one.getAttribute('class')));
  assert.deepEqual((await drawn()).toSorted(), ['line status-2 shade-0', 'line status-5 shade-0']);
  const [button] = (await page.$$('.series-name')).slice(-1);
  await button.click();
  await until(page, () => document.querySelectorAll('.chart path').length === 1);
  assert.deepEqual(await drawn(), ['line status-5 shade-0']);
  await button.click();
  await until(page, () => document.querySelectorAll('.chart path').length === 2);
  await page.keyboard.down('Shift');
  await button.click();
  await page.keyboard.up('Shift');
  await until(page, () => document.querySelectorAll('.chart path').length === 1);
  assert.deepEqual(await drawn(), ['line status-2 shade-0']);
  for (const label of ['Stacked', 'Log']) await page.evaluate((text) => [...document.querySelectorAll('.chart-options button')].find((one) => one.textContent === text).click(), label);
  await until(page, () => document.querySelector('.chart path.area') && location.hash.includes('log=1'));
  await page.select('#unit', 'ms');
  await until(page, () => [...document.querySelectorAll('.chart .axis')].some((one) => one.textContent.endsWith(' ms')));
  assert.match(page.url(), /stack=1.*unit=ms/);
  await shots(page, 'metric-stacked');
  const session = await page.createCDPSession();
  await session.send('Browser.setDownloadBehavior', { behavior: 'deny' });
  await page.evaluate(() => {
    const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      blob.text().then((text) => (window.csv = text));
      return make(blob);
    };
  });
  await page.click('.chart-options [title="Values of the chart as CSV"]');
  await until(page, () => window.csv);
  assert.match(await page.evaluate(() => window.csv), /^time,200\r\n20\d\d-.*Z,\d+\r\n/);
  await page.click('.metric-records .row .message');
  await page.waitForSelector('.detail-fields');
  await checkAccessibility(page, 'metric with a record');
  await page.evaluate(() => [...document.querySelectorAll('.detail-fields tr')].find((tr) => tr.cells[0].textContent === 'status').querySelector('[aria-label^="Only"]').click());
  await until(page, () => document.querySelector('#query').value.includes('| json | status="'));
  assert.match(await page.$eval('#query', (q) => q.value), /^sum by \(status\) \(count_over_time\(\{service_name="shop"\} \| json \| status="\d+" ?\[1m\]\)\)$/);
});
