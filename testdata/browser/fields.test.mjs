// Fields of text: those of logq, and facets that filter by them.

import assert from 'node:assert/strict';
import test from 'node:test';
import { browse, child, found, logq, newStore, open, serve, ship, shot, textsOf, until } from './lib.mjs';
import { toRecord } from '../../serve/page/static/api.js';
import { fieldsOf, stageOf } from '../../serve/page/static/fields.js';

// Lines after the documentation of each project's format. They are shipped as they are, so their times are of one hour.
const time = '20/Nov/2026:15:04:05 +0000';
const lines = {
  'nginx and Apache': [
    `192.0.2.7 - ann [${time}] "GET /cart?id=7&x=a HTTP/1.1" 200 5123`,
    `198.51.100.4 - - [${time}] "POST /api/v1/pay HTTP/2.0" 503 197 "https://shop.example/cart?a=b" "Mozilla/5.0 (X11; Linux x86_64)"`,
    `2001:db8::17 - - [${time}] "-" 408 -`,
    `192.0.2.7 ident7 ann lee [${time}] "HEAD / HTTP/1.0" 304 0 "-" "-"`,
    `192.0.2.7 - - [${time}] "GET http://a.example:8080/p?q HTTP/1.1" 200 1`,
    `192.0.2.7 - - [${time}] "\\x16\\x03\\x01" 400 150 "-" "-"`,
    `192.0.2.7 - - [${time}] "GET /old" 200 1`,
    `192.0.2.7 - - [${time}] "GET /a HTTP/1.1" 200 99 "https://shop.example/?a=b" "curl; c=d" rt=0.005 uct="0.000"`,
  ],
  'ingress-nginx': [
    `203.0.113.9 - - [${time}] "GET /api/orders?page=2 HTTP/1.1" 502 552 "https://shop.example/" "curl/8.5.0" 417 1.204 [shop-orders-http] [] 10.1.0.7:8080, 10.1.0.8:8080 0, 552 0.602, 0.601 502, 502 6f1a5b3c9d`,
    `203.0.113.9 - ann [${time}] "GET / HTTP/1.1" 404 19 "-" "-" 80 0.000 [upstream-default-backend] [canary] - - - - 0a1b`,
  ],
  Envoy: [
    '[2026-11-20T15:04:05.310Z] "POST /api/v1/locations?x=1 HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "locate/1.0" "cc21d9b0-cf5c" "locations" "10.0.2.1:80"',
    '[2026-11-20T15:04:05.310Z] "- - -" 0 UF,URX 12 34 5000 - "-" "-" "-" "-" "[2001:db8::2]:5432"',
  ],
  HAProxy: [
    '10.0.1.2:33317 [20/Nov/2026:15:04:05.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {shop.example} {} "GET /index.html?a=b HTTP/1.1"',
    '<134>Nov 20 15:04:05 lb1 haproxy[14389]: 2001:db8::7:33317 [20/Nov/2026:15:04:05.655] https~ api/<NOSRV> 0/-1/-1/-1/+2 503 +212 - - SC-- 9/8/7/0/+3 0/1 "POST /p HTTP/1.1"',
  ],
  'AWS ALB': [
    'https 2026-11-20T15:04:05.186641Z app/shop/50dc 192.0.2.7:2817 10.0.0.1:80 0.086 0.048 0.037 200 201 39 57 "GET https://shop.example:443/cart?id=7 HTTP/1.1" "curl/8.5.0" ECDHE TLSv1.2 arn:aws:x "Root=1-58337281" "shop.example" "-" 1 2026-11-20T15:04:04.364000Z "forward" "-" "-" "10.0.0.1:80" "201" "-" "-" TID_1234',
    'h2 2026-11-20T15:04:05.186641Z app/shop/50dc [2001:db8::7]:2817 - -1 -1 -1 502 - 0 610 "GET https://shop.example:443/ HTTP/2.0" "-" - - - "Root=1-58" "-" "-" 0 2026-11-20T15:04:04.364000Z "forward"',
  ],
  klog: [
    'E1120 15:04:05.123456   12345 controller.go:116] failed to sync: timeout',
    'I1120 15:04:05.123456       1 pods.go:7] "Pod status" pod="kube-system/dns" ready=true',
  ],
  IIS: [
    '#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status time-taken',
    '2026-11-20 15:04:05 10.0.0.1 GET /default.htm id=7 443 - 192.0.2.7 Mozilla/5.0+(Windows+NT+10.0) 200 31',
    '2026-11-20 15:04:06 10.0.0.1 POST /pay - 443 ann 192.0.2.8 - 503 2044',
  ],
  configured: ['2026-11-20T15:04:05Z worker[7]: job-12 took 17ms of 250 level=x', '2026-11-20T15:04:06Z worker[8]: job-13 took 4s of 250', 'other'],
};

const parsers = { configured: "pattern '<_> worker[<worker>]: <job.name> took <took> of <quota>'" };

test('fields of text are those of logq, and need no stage in a query', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  for (const [title, some] of Object.entries(lines)) await ship(store, nameOf(title), some.join('\n') + '\n', ...(parsers[title] ? ['--parse', parsers[title]] : []));
  const { url } = await serve(t, store);
  for (const [title, some] of Object.entries(lines)) {
    const service = nameOf(title);
    const read = async (query) => {
      const answer = await fetch(`${url}/logstow/api/v1/records?${new URLSearchParams({ query, start: '1', direction: 'forward' })}`);
      assert.equal(answer.status, 200, query);
      return (await answer.text()).split('\n').filter(Boolean).map((one) => toRecord(JSON.parse(one)));
    };
    const flat = (await logq(store, 'query', '--since', '36500d', '-s', service, '-o', 'flat')).trim().split('\n').map((one) => JSON.parse(one));
    const records = await read(`{service_name="${service}"}`);
    assert.equal(records.length, some.length);
    for (const [i, record] of records.entries()) {
      const { values } = fieldsOf(record);
      const want = {};
      for (const [name, value] of Object.entries(flat[i])) {
        const label = name.replace(/^message\./, '').replace('.', '_');
        if (!['time', 'level', 'service', 'source', 'instance', 'message'].includes(name)) want[label] = String(value);
      }
      assert.deepEqual({ ...values }, want, record.line);
      assert.deepEqual(Object.keys(values).filter((name) => stageOf(record, name)), [], record.line);
      const conditions = Object.entries(values).map(([name, value]) => ` | ${name}=${JSON.stringify(value)}`);
      const again = await read(`{service_name="${service}"}${conditions.join('')}`);
      if (conditions.length) assert.deepEqual(again.map((one) => one.line), [record.line], conditions.join(''));
    }
  }
});

function nameOf(title) {
  return title.toLowerCase().replaceAll(' ', '-');
}

test('hostile lines take no time', () => {
  for (const line of ['a:'.repeat(8000), 'x=1 ' + 'a:'.repeat(8000), 'a='.repeat(8000), 'x'.repeat(16384), 'a="'.repeat(6000), 'a="\\'.repeat(4000), '" '.repeat(8000)]) {
    const begun = process.cpuUsage(); // not the time in which other programs run
    fieldsOf({ line });
    const { user, system } = process.cpuUsage(begun);
    assert.ok(user + system < 200_000, `${user + system} µs for ${line.slice(0, 40)}`);
  }
});

test('a live record of a configured parser has its fields', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  await ship(store, 'other', 'first\n');
  const { url } = await serve(t, store);
  const browser = await browse(t);
  const page = await open(t, browser, `${url}/#${new URLSearchParams({ q: '{service_name="jobs"}', live: '1', cols: 'worker' })}`);
  const shipper = child(t, store, 'shipper', ['run', '--service', 'jobs', '--parse', parsers.configured, '--flush-interval', '1s', '-'], ['pipe', 'ignore', 'ignore']);
  shipper.stdin.write(`${new Date().toISOString()} worker[7]: job-12 took 17ms of 250\n`);
  await until(page, () => document.querySelector('.rows .row'));
  await page.click('.rows .row');
  await until(page, () => document.querySelector('.detail-fields'));
  assert.deepEqual(await textsOf(page, '.detail-fields th'), ['service_name', 'level', 'instance', 'source', 'job_name', 'quota', 'took', 'worker']);
  await shot(page, 'live-parsed');
});

test('facets of an access log: include and exclude', { timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  const at = new Date(Date.now() - 600_000);
  const stamp = `${String(at.getUTCDate()).padStart(2, '0')}/${at.toLocaleString('en', { month: 'short', timeZone: 'UTC' })}/${at.toISOString().slice(0, 4)}:${at.toISOString().slice(11, 19)} +0000`;
  const log = Array.from({ length: 300 }, (_, i) => `192.0.2.${i % 7} - - [${stamp}] "GET ${['/cart', '/pay', '/old'][i % 3]}?id=${i} HTTP/1.1" ${i % 10 ? 200 : 503} ${i} "-" "curl/8"`);
  await ship(store, 'nginx', log.join('\n') + '\n');
  const { url } = await serve(t, store);
  const browser = await browse(t);
  const page = await open(t, browser, `${url}/#${new URLSearchParams({ q: '{service_name="nginx"}' })}`);
  await found(page, '300');
  await until(page, () => document.querySelector('[aria-controls="facet-status"]'));
  const click = (label) => page.click(`:is([title^="${label}"], [aria-label^="${label}"])`);
  const value = () => page.$eval('#query', (q) => q.value);
  await page.click('[aria-controls="facet-status"]');
  await click('Only status 503');
  await found(page, '30 records');
  assert.match(await value(), /^\{service_name="nginx"\} \| status="503"$/);
  await shot(page, 'facet-access');
  await page.click('[aria-controls="facet-path"]');
  await click('Exclude path /pay');
  await found(page, `${log.filter((l) => l.includes(' 503 ') && !l.includes('/pay')).length} records`);
  await click('Remove the filter status 503');
  await found(page, '200 records');
  await page.click('.facet:has([aria-controls="facet-path"]) .tool'); // colour
  await until(page, () => [...document.querySelectorAll('.legend li')].some((one) => one.textContent.includes('/cart')));
});
