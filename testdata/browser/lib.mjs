// What the tests of the page share: a store filled by the shipper, logq serve over it, and a browser.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import puppeteer from 'puppeteer-core';

const run = promisify(execFile);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const bin = process.env.LOGSTOW_BIN || path.join(root, 'bin');
const chromium = process.env.LOGSTOW_CHROMIUM || '/usr/bin/chromium';

/** pictures is where screenshots go if LOGSTOW_SCREENSHOTS names a directory. */
const pictures = process.env.LOGSTOW_SCREENSHOTS;

/** patience is how long anything is waited for, in ms: other programs use the processors too. */
const patience = 120_000;

/** random is a generator of numbers below 1 whose seed is in the test's output. */
export function random(seed) {
  console.log(`seed ${seed}`);
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** newStore is an empty store in a directory that the end of the test removes. */
export async function newStore(t) {
  const dir = await mkdtemp(path.join(tmpdir(), 'logstow-browser-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return { dir, store: path.join(dir, 'store'), env: { ...process.env, XDG_STATE_HOME: path.join(dir, 'state'), LOGSTOW_STORE: path.join(dir, 'store') } };
}

/** ship stores text, the lines of a service; flags are further ones of shipper run. */
export async function ship(store, service, text, ...flags) {
  const shipper = spawn(path.join(bin, 'shipper'), ['run', '--once', '--service', service, ...flags, '-'], { env: store.env, stdio: ['pipe', 'ignore', 'pipe'] });
  let errors = '';
  shipper.stderr.on('data', (chunk) => (errors += chunk));
  shipper.stdin.end(text);
  const [status] = await once(shipper, 'close');
  assert.equal(status, 0, errors);
}

/** logq runs a command over the store, and returns what it prints. */
export async function logq(store, ...args) {
  const { stdout } = await run(path.join(bin, 'logq'), args, { env: store.env, maxBuffer: 1 << 28, timeout: patience });
  return stdout;
}

/** opened are the browsers and pages that each test opened. */
const opened = new WeakMap();

const closeLater = (t, one) => opened.set(t, [...(opened.get(t) || []), one]);

/** child starts a program that the end of the test interrupts. */
export function child(t, store, name, args, stdio = ['ignore', 'ignore', 'pipe']) {
  const process_ = spawn(path.join(bin, name), args, { env: store.env, stdio });
  const ended = once(process_, 'close');
  t.after(async () => {
    for (const one of opened.get(t) || []) if (one.connected ?? !one.isClosed()) await one.close(); // pages would report that the server ended
    process_.kill('SIGTERM');
    const late = globalThis.setTimeout(() => process_.kill('SIGKILL'), patience);
    await ended;
    clearTimeout(late);
    assert.notEqual(process_.signalCode, 'SIGKILL', `${name} does not end`);
  });
  return process_;
}

/** logged waits until a program has logged what a pattern matches, and returns the match. */
export function logged(program, pattern) {
  let log = '';
  return new Promise((resolve, reject) => {
    const late = globalThis.setTimeout(() => reject(new Error(`it does not log ${pattern}: ${log}`)), patience);
    program.stderr.on('data', (chunk) => {
      log += chunk;
      const match = pattern.exec(log);
      if (!match) return;
      clearTimeout(late);
      resolve(match);
    });
    program.on('close', () => {
      clearTimeout(late);
      reject(new Error(`it ended: ${log}`));
    });
  });
}

/** serve starts logq serve, and returns its address. */
export async function serve(t, store, ...args) {
  const server = child(t, store, 'logq', ['serve', '--store', store.store, '--listen', '127.0.0.1:0', ...args]);
  const [, address] = await logged(server, /"address":"([^"]+)"/);
  return { url: `http://${address}`, process: server };
}

/** browse starts a browser with a fresh profile. */
export async function browse(t) {
  const browser = await puppeteer.launch({ executablePath: chromium, headless: true, timeout: patience, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
  t.after(() => browser.connected && browser.close());
  closeLater(t, browser);
  return browser;
}

/** open opens a page. What it requests elsewhere, what it reports on its console, and what fails in it fails the test. */
export async function open(t, browser, url, { width = 1400, height = 860, theme = 'light', expected = [] } = {}) {
  const page = await browser.newPage();
  closeLater(t, page);
  page.setDefaultTimeout(patience);
  const origin = new URL(url).origin;
  const faults = [];
  page.on('request', (r) => {
    if (!r.url().startsWith(origin + '/') && !/^(data|about|chrome|blob):/.test(r.url())) faults.push(`request of another host: ${r.url()}`);
  });
  page.on('console', (m) => {
    if (['error', 'warn'].includes(m.type()) && !expected.some((e) => e.test(m.text()))) faults.push(`console: ${m.text()}`);
  });
  page.on('pageerror', (e) => faults.push(`script: ${e.stack || e}`));
  t.after(() => assert.deepEqual(faults, []));
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
  await page.emulateTimezone('UTC');
  await page.goto(url);
  return page;
}

/** shot keeps a screenshot. */
export async function shot(page, name) {
  if (!pictures) return;
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

/** shots are screenshots at three widths, light and dark; at none of them the page is wider than the window. */
export async function shots(page, name) {
  const before = page.viewport();
  for (const width of [400, 1280, 2500]) {
    await page.setViewport({ width, height: width < 800 ? 860 : 900 });
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await until(page, () => [document.querySelector('#query')].every((area) => area.clientHeight >= Math.min(area.scrollHeight, 158))); // as high as its text
    const wide = await page.evaluate(() => [...document.querySelectorAll('.page *')].filter((el) => (el.getBoundingClientRect().right > innerWidth + 1 || el.getBoundingClientRect().left < -1) && !el.closest('.list, .skip, table, svg, .sr, code, nav')).map((el) => el.outerHTML.slice(0, 80)));
    assert.deepEqual([await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), wide], [false, []], `${name} at ${width} pixels`);
    for (const theme of pictures ? ['light', 'dark'] : []) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
      await shot(page, `${name}-${width}-${theme}`);
    }
  }
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  await checkAccessibility(page, `${name}, dark`);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  await page.setViewport(before);
}

/**
 * until waits for a condition in the page; its arguments are passed on. It asks from outside: if the condition throws, polls in the
 * page end silently.
 */
export async function until(page, f, ...args) {
  for (const late = Date.now() + patience; Date.now() < late; await setTimeout(50)) {
    if (await page.evaluate(f, ...args)) return;
  }
  throw new Error(`waited in vain for ${f} of ${JSON.stringify(args)}`);
}

/** textOf is the text of the first element. */
export const textOf = (page, selector) => page.$eval(selector, (el) => el.textContent.trim());

/** textsOf are those of all. */
export const textsOf = (page, selector) => page.$$eval(selector, (all) => all.map((el) => el.textContent.trim()));

/** rowsOf are the messages of the rows in view. */
export const rowsOf = (page) => textsOf(page, '#records .rows .row .message');

/** found waits until the tool bar has a text. */
export const found = (page, text) => until(page, (want) => document.querySelector('#found')?.textContent.includes(want), text);

/** listed waits until the tool bar has a text, which the counts may give it before, and the list has its records. */
export const listed = (page, text) =>
  until(page, (want) => document.querySelector('#found')?.textContent.includes(want) && document.querySelector('#records')?.ariaBusy === 'false' && document.querySelector('.rows .row'), text);

/** ask replaces the query and runs it. */
export async function ask(page, query) {
  await page.click('#query', { count: 3 });
  await page.keyboard.press('Backspace');
  await page.type('#query', query);
  await page.keyboard.press('Enter');
}

const axeSource = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** checkAccessibility fails for what axe-core finds. */
export async function checkAccessibility(page, what) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(axeSource);
  const violations = await page.evaluate(async () => {
    const { violations: all } = await window.axe.run(document, { resultTypes: ['violations'] });
    return all.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.html.slice(0, 160)} ${n.failureSummary}`).join(' | ')}`);
  });
  assert.deepEqual(violations, [], what);
}

/** lines are n JSON records of the last minutes, the same for a seed. */
export function lines(n, { seed = 1, minutes = 50, errors = 0.1, end = Date.now() - 60_000 } = {}) {
  const rnd = random(seed);
  const paths = ['/buy', '/cart', '/search', '/login'];
  const all = [];
  for (let i = 0; i < n; i++) {
    const time = new Date(end - minutes * 60_000 * (1 - i / n)).toISOString();
    const bad = rnd() < errors;
    all.push(
      JSON.stringify({
        time, level: bad ? 'ERROR' : 'INFO', msg: bad ? 'upstream failed' : 'request served', n: i, status: bad ? 503 : 200,
        path: paths[Math.floor(rnd() * paths.length)], took_ms: Math.round(rnd() * 900) / 10,
      }),
    );
  }
  return all;
}
