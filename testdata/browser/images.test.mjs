// The pictures of docs/images: LOGSTOW_IMAGES=docs/images node --test testdata/browser/images.test.mjs

import path from 'node:path';
import test from 'node:test';
import { browse, listed, newStore, open, random, serve, ship } from './lib.mjs';

const dir = process.env.LOGSTOW_IMAGES;
const minute = 60_000;

/** requests are n JSON records of a service in the last hour, with more errors in ten minutes of it. */
function requests(seed, n, paths, errors, end) {
  const rnd = random(seed);
  const pick = (all) => all[Math.floor(rnd() * all.length)];
  const hex = (digits) => Array.from({ length: digits }, () => Math.floor(rnd() * 16).toString(16)).join('');
  return Array.from({ length: n }, (_, i) => {
    const at = i / n;
    const bad = rnd() < errors * (at > 0.55 && at < 0.72 ? 6 : 1);
    const slow = !bad && rnd() < 0.06;
    return JSON.stringify({
      time: new Date(end - 58 * minute * (1 - at) + Math.floor(rnd() * 900)).toISOString(), level: bad ? 'error' : slow ? 'warn' : 'info',
      msg: bad ? 'upstream timeout, gave up after 3 attempts' : slow ? 'slow request' : 'request served',
      method: pick(['GET', 'GET', 'POST']), path: pick(paths), status: bad ? pick([502, 503, 504]) : 200,
      took_ms: Math.round((bad ? 3000 : slow ? 900 : 20) * (0.6 + rnd()) * 10) / 10, user: `user-${Math.floor(rnd() * 400)}`, trace_id: hex(32),
    });
  });
}

test('the pictures of the documentation', { skip: !dir && 'LOGSTOW_IMAGES names no directory', timeout: 300_000 }, async (t) => {
  const store = await newStore(t);
  const end = Math.floor(Date.now() / minute) * minute - minute;
  for (const [service, n, paths, errors] of [
    ['checkout', 2400, ['/cart', '/pay', '/orders'], 0.02], ['search', 3600, ['/find', '/suggest'], 0.004], ['accounts', 900, ['/login', '/profile'], 0.003], ['mail', 400, ['/send'], 0],
  ]) await ship(store, service, requests(n, n, paths, errors, end).join('\n') + '\n');
  const { url } = await serve(t, store);
  const browser = await browse(t);
  const view = (state, size) => open(t, browser, `${url}/#${new URLSearchParams({ from: 'now-1h', tz: 'UTC', ...state })}`, size);
  const keep = (page, name) => page.screenshot({ path: path.join(dir, `${name}.png`) });

  const first = await view({}, { width: 1040, height: 470 });
  await first.waitForSelector('.overview tbody tr');
  await keep(first, 'page-first');

  const record = await view({ q: '{service_name="checkout", level=~"error|warn"}', cols: 'status' }, { width: 1240, height: 640 });
  await listed(record, 'records');
  await record.click('#record-1 .message');
  await record.waitForSelector('.detail-fields');
  await record.mouse.move(0, 0);
  await keep(record, 'page-record');

  const chart = await view({ q: 'sum by (status) (rate({service_name="checkout"} | json | status >= 500 [2m]))', stack: '1' }, { width: 1240, height: 640 });
  await chart.waitForSelector('.metric-records .rows .row');
  await chart.waitForSelector('#cost b');
  await keep(chart, 'page-chart');
});
