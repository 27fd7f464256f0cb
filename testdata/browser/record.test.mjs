// The panel of a record: what can be done with its fields and identifiers; and facets of labels that are attributes.

import assert from 'node:assert/strict';
import test from 'node:test';
import { browse, checkAccessibility, child, listed, logged, logq, newStore, open, serve, ship, shot, shots, textOf, textsOf, until } from './lib.mjs';
import { fieldsOf, identifiersOf } from '../../serve/page/static/fields.js';
import { filter, filterOf, inSelector } from '../../serve/page/static/logql.js';

const order = '7f3c2a9b-1c2d-4e5f-8a9b-0c1d2e3f4a5b';

test('identifiers are those of things, and not of fields', () => {
  const of = (line, fields = {}) => identifiersOf({ line, fields });
  assert.deepEqual(of(`order ${order} of 4bf92f3577b34da6a3ce929d0e0e4736, req-8f3a2c in 1700000000 by deadbeefdeadbeef`), [order, '4bf92f3577b34da6a3ce929d0e0e4736', 'req-8f3a2c']);
  assert.deepEqual(of(`order ${order} a-b x-${'1'.repeat(50)} 01ARZ3NDEKTSV4RRFFQ69G5FAV`, { id: order }), ['01ARZ3NDEKTSV4RRFFQ69G5FAV']);
  assert.equal(of(Array.from({ length: 50 }, (_, i) => `job-${i + 1000000}`).join(' ')).length, 20);
  for (const line of ['ab-'.repeat(30_000), 'a'.repeat(65_536), `ab-${'a'.repeat(65_000)}`, '1a'.repeat(32_000)]) {
    const begun = process.cpuUsage();
    of(line);
    const { user, system } = process.cpuUsage(begun);
    assert.ok(user + system < 200_000, `${user + system} µs for ${line.slice(0, 20)}`);
  }
});

test('filters of labels that are attributes are in the selector', () => {
  let q = filter('error', 'k8s_pod_name', 'a', 'in', inSelector);
  assert.equal(q, '{k8s_pod_name="a"} |~ "(?i)error"');
  assert.equal(filterOf(q, 'k8s_pod_name', 'a'), 'in');
  q = filter(q, 'k8s_pod_name', 'b', 'in');
  assert.equal(q, '{k8s_pod_name=~"a|b"} |~ "(?i)error"');
  q = filter(filter(q, 'k8s_pod_name', 'a', 'in'), 'k8s_pod_name', 'b', 'out');
  assert.equal(q, '{service_name=~".+", k8s_pod_name!="b"} |~ "(?i)error"');
  assert.equal(filter('{a="b"} | k8s_pod_name="x"', 'k8s_pod_name', 'y', 'in', inSelector), '{a="b", k8s_pod_name=~"x|y"}');
  assert.equal(filter('sum(rate({a="b"}[1m]))', 'k8s_pod_name', 'x', 'in', inSelector), 'sum(rate({a="b", k8s_pod_name="x"}[1m]))');
});

/** sendPods stores records of pods, as an OpenTelemetry collector sends them. */
async function sendPods(t, store, pods) {
  const shipper = child(t, store, 'shipper', ['run', '--service', 'cart', '--http', '127.0.0.1:0', '--flush-interval', '1s']);
  const [, address] = await logged(shipper, /"address":"([^"]+)"/);
  const attributes = (all) => Object.entries(all).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const logRecords = (pod) =>
    Array.from({ length: 50 }, (_, i) => ({
      timeUnixNano: String(BigInt(Date.now() - 120_000 - i * 1000) * 1000000n), severityNumber: 9, body: { stringValue: `order ${order} of ${pod} placed` },
      attributes: attributes({ 'http.route': i % 5 ? '/cart' : '/pay', n: String(i) }),
    }));
  const resourceLogs = pods.map((pod) => ({ resource: { attributes: attributes({ 'service.name': 'cart', 'k8s.pod.name': pod }) }, scopeLogs: [{ logRecords: logRecords(pod) }] }));
  const answer = await fetch(`http://${address}/v1/logs`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ resourceLogs }) });
  assert.equal(answer.status, 200);
  while ((await logq(store, 'query', '--since', '1h', '-s', 'cart', '-o', 'raw').catch(() => '')).trim().split('\n').length < 50 * pods.length);
}

test('facets of labels, actions of fields and identifiers, and a record of any size', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'mail', `${new Date(Date.now() - 130_000).toISOString()} INFO order ${order} confirmed\n`);
  const large = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`field_${i}`, `${i} ${'x'.repeat(150)}`]));
  await ship(store, 'large', JSON.stringify({ time: new Date(Date.now() - 60_000).toISOString(), msg: 'large', ...large }) + '\n');
  await sendPods(t, store, ['cart-1', 'cart-2', 'cart-3']);
  const { url } = await serve(t, store);
  const browser = await browse(t);
  const page = await open(t, browser, `${url}/#${new URLSearchParams({ q: '{service_name="cart"}' })}`);
  await listed(page, '150 records');
  await page.waitForSelector('[aria-controls="facet-k8s_pod_name"]');
  await page.click('[aria-controls="facet-k8s_pod_name"]');
  await until(page, () => document.querySelectorAll('#facet-k8s_pod_name .facet-value').length === 3);
  assert.deepEqual(await textsOf(page, '#facet-k8s_pod_name .facet-value .count'), ['50', '50', '50']);
  await checkAccessibility(page, 'facet of a label');
  await page.click('[title^="Only k8s_pod_name cart-2"]');
  await listed(page, '50 records');
  assert.equal(await page.$eval('#query', (q) => q.value), '{service_name="cart", k8s_pod_name="cart-2"}');

  await page.click('#record-0 .message');
  await page.waitForSelector('.detail-fields');
  const fields = Object.fromEntries(await page.$$eval('.detail-fields tr', (all) => all.map((tr) => [tr.cells[0].textContent, tr.cells[1].textContent])));
  assert.equal(fields.k8s_pod_name, 'cart-2');
  assert.equal(fields.http_route, '/pay');
  assert.equal(fields.identifier, order);
  const act = async (name, text) => {
    if (!(await page.$(`[aria-label="More of ${name}"][aria-expanded="true"]`))) await page.click(`[aria-label="More of ${name}"]`);
    await page.waitForSelector('.field-more .tool');
    await page.evaluate((field, label) => {
      const row = document.querySelector(`[aria-label="More of ${field}"]`).closest('tr').nextElementSibling;
      [...row.querySelectorAll('.tool')].find((one) => one.textContent === label).click();
    }, name, text);
  };
  await act('http_route', 'top values');
  await until(page, () => document.querySelectorAll('.top-values .count').length === 2);
  assert.deepEqual(await textsOf(page, '.top-values li'), ['/cart40', '/pay10']);
  await act('http_route', 'add column');
  await until(page, () => [...document.querySelectorAll('.row.head .cell')].some((one) => one.textContent === 'http_route'));
  await checkAccessibility(page, 'actions of a field');
  await shots(page, 'record-actions');
  await act('http_route', 'around this time');
  await until(page, () => location.hash.includes('from=20'));
  assert.equal(await page.$eval('#query', (q) => q.value), '{service_name="cart", k8s_pod_name="cart-2"} | http_route="/pay"');
  await listed(page, '10 records');
  await page.goBack();
  await listed(page, '50 records');
  await page.click('#record-0 .message');
  await page.waitForSelector('.detail-fields');
  await act('identifier', 'find in all services');
  await listed(page, '151 records');
  assert.equal(await page.$eval('#query', (q) => q.value), `{service_name=~".+"} |= "${order}"`);
  await page.click('#record-0 .message');
  await page.waitForSelector('.detail-fields');
  await act('http_route', 'chart by');
  await page.waitForSelector('.metric tbody tr');
  assert.match(await page.$eval('#query', (q) => q.value), /^sum by \(http_route\) \(count_over_time\(.* \[30s\]\)\)$/);

  const other = await open(t, browser, `${url}/#${new URLSearchParams({ q: '{service_name="large"}' })}`);
  await other.waitForSelector('#record-0');
  await other.click('#record-0 .message');
  await until(other, () => document.querySelectorAll('.detail-fields tr').length > 300);
  assert.equal(Object.keys(fieldsOf({ line: await textOf(other, '.detail pre') }).values).length > 50, false, 'the message is cut at first');
  await other.type('.detail-fields input', 'field_299');
  await until(other, () => [...document.querySelectorAll('.detail-fields th')].some((one) => one.textContent === 'field_299') && document.querySelectorAll('.detail-fields tr').length < 10);
  await checkAccessibility(other, 'a large record');
  await shot(other, 'record-large');
});
