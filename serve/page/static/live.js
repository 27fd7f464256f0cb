// Live tail: records over a websocket as storage gets them.

import { identity, loki, nanosOf } from './api.js';
import { nanos } from './time.js';

/** liveRecords is the number of records that a live tail keeps. */
export const liveRecords = 10_000;

/** first is the number of records that a live tail begins with. */
const first = 500;

/** catchUp is the number of records that are read after a connection broke: the most that the server sends. */
const catchUp = 5000;

/** lateness is the time behind a record, in nanoseconds, for which the server finds others that are stored late. */
const lateness = 2n * 3600n * 1000000000n;

const retryMost = 30_000;

const belowOf = (at) => String(at % 1000000n).padStart(6, '0');

/** timeOf is a time in nanoseconds as records have it. */
const timeOf = (at) => new Date(Number(at / 1000000n)).toISOString().slice(0, 23) + belowOf(at) + 'Z';

/** toRecords are the records of a message, in order of time. */
export function toRecords({ streams }) {
  const all = [];
  for (const { stream, values } of streams) {
    for (const [time, line, { structuredMetadata = {}, parsed, text, repeats }] of values) {
      const { source = '', ...fields } = structuredMetadata;
      delete fields.detected_level;
      const at = BigInt(time);
      all.push({
        ms: Number(at / 1000000n), below: belowOf(at), time: timeOf(at), line, repeats, source, fields, text, parsed, ...identity(stream),
      });
    }
  }
  return all.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}

const sameRecord = (a, b) => ['line', 'service', 'instance', 'source'].every((name) => a[name] === b[name]);

/** Shown are the newest records that a live tail got, by their time: after a connection broke they come again, and are left out. */
class Shown {
  byTime = new Map(); // lists of records
  order = []; // all, as they came
  forgotten = 0n; // the newest time of records that are not kept

  add(records) {
    for (const one of records) {
      if (this.byTime.has(one.time)) this.byTime.get(one.time).push(one);
      else this.byTime.set(one.time, [one]);
    }
    this.order.push(...records);
    for (const one of this.order.splice(0, Math.max(0, this.order.length - liveRecords))) {
      const others = this.byTime.get(one.time);
      others.splice(others.indexOf(one), 1);
      if (!others.length) this.byTime.delete(one.time);
      if (nanosOf(one) > this.forgotten) this.forgotten = nanosOf(one);
    }
  }

  /** times are those of the records from a time on, in order. */
  times(from) {
    return [...this.byTime.keys()].filter((time) => time >= from).sort();
  }

  /** taker makes a function that reports whether a record is among them, once for each. */
  taker() {
    const left = new Map([...this.byTime].map(([time, records]) => [time, [...records]]));
    return (one) => {
      const of = left.get(one.time) || [];
      const i = of.findIndex((other) => sameRecord(one, other));
      if (i >= 0) of.splice(i, 1);
      return i >= 0;
    };
  }
}

const latest = (...times) => times.reduce((a, b) => (a > b ? a : b));

/**
 * follow opens a live tail of a log query. onRecords gets records, the oldest first; onStatus gets connecting, open, watched (open,
 * and shippers flush early), or closed with the text of the error. It returns what ends it. A connection that breaks is opened again, and reads
 * what came meanwhile, also of earlier times; if that may be too much, open and watched have a text that reports what may be missing.
 */
export function follow(query, { onRecords, onStatus }) {
  let socket;
  let timer;
  let ended = false;
  let wait = 1000;
  let opened = 0;
  let reason = ''; // why the connection ended that was open last: an attempt to connect again that is rejected has none
  const shown = new Shown();
  let since = BigInt(nanos(Date.now() - 60_000)); // records before are not of this tail
  let last = 0n; // the newest time
  let expected = []; // the times shown that a connection which is not the first begins with
  let take; // reports whether a record is one that was shown
  let left = 0; // records until which some may come again
  let missing = '';
  let status;
  const report = (name) => onStatus((status = name), missing);
  const receive = (all) => {
    if (!last && all.length >= first) since = nanosOf(all[0]);
    if (expected.length && all[0].time > expected[0]) {
      const [before, newest] = [all[0].time.slice(11, 19), expected[expected.length - 1]];
      missing = all[0].time > newest ? `records are missing before ${before} UTC` : `records before ${before} UTC that were stored late may be missing`;
      report(status);
    }
    expected = [];
    const fresh = left > 0 ? all.filter((one) => !take(one)) : all;
    left -= all.length;
    last = latest(last, nanosOf(all[all.length - 1]));
    shown.add(fresh);
    if (fresh.length) onRecords(fresh);
  };
  const connect = () => {
    report('connecting');
    const start = latest(since, last - lateness, shown.forgotten);
    expected = shown.times(timeOf(start));
    [take, left] = [shown.taker(), expected.length ? catchUp : 0];
    const url = new URL(loki + 'tail', location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    url.search = new URLSearchParams({ query, start, limit: last ? catchUp : first, watched: 1, categorize: 1, repeats: 1 });
    socket = new WebSocket(url);
    socket.onopen = () => {
      opened = Date.now();
      reason = '';
      report('open');
    };
    socket.onmessage = (e) => {
      const message = JSON.parse(e.data);
      if ('watched' in message) report(message.watched ? 'watched' : 'open');
      const all = toRecords(message);
      if (all.length) receive(all);
    };
    socket.onclose = (e) => {
      if (ended) return;
      reason = e.reason || reason;
      onStatus('closed', reason || 'the connection ended');
      if (opened && Date.now() - opened > retryMost) wait = 1000;
      opened = 0;
      timer = setTimeout(connect, wait);
      wait = Math.min(wait * 2, retryMost);
    };
  };
  connect();
  return () => {
    ended = true;
    clearTimeout(timer);
    socket.close();
  };
}
