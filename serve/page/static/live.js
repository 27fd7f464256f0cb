// Live tail: records over a websocket as storage gets them.

import { loki, nanosOf } from './api.js';
import { nanos } from './time.js';

/** liveRecords is the number of records that a live tail keeps. */
export const liveRecords = 10_000;

/** catchUp is the number of records that are read after a connection broke: the most that the server sends. */
const catchUp = 5000;

const retryMost = 30_000;

function toRecords({ streams }) {
  const all = [];
  for (const { stream, values } of streams) {
    for (const [time, line, { structuredMetadata = {}, parsed }] of values) {
      const { source = '', ...fields } = structuredMetadata;
      delete fields.detected_level;
      const at = BigInt(time);
      const ms = Number(at / 1000000n);
      const below = String(at % 1000000n).padStart(6, '0');
      all.push({
        ms, below, time: new Date(ms).toISOString().slice(0, 23) + below + 'Z', line, source, fields, parsed, service: stream.service_name || '',
        level: stream.level || 'unknown', instance: stream.instance || '',
      });
    }
  }
  return all.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}

/**
 * follow opens a live tail of a log query. onRecords gets records, the oldest first; onStatus gets connecting, open, watched (open,
 * and shippers flush early), or closed with the text of the error. It returns what ends it. A connection that breaks is opened again behind the newest record;
 * if too many came meanwhile, open and watched have a text that reports the gap.
 */
export function follow(query, { onRecords, onStatus }) {
  let socket;
  let timer;
  let ended = false;
  let wait = 1000;
  let reason = ''; // why the connection ended that was open last: an attempt to connect again that is rejected has none
  let last = null; // {at, lines}: the newest time, and what came at it, which is not shown twice
  let resumed = false; // until the first records of a connection that is not the first
  let missing = '';
  let status;
  const report = (name) => onStatus((status = name), missing);
  let start = nanos(Date.now() - 60_000);
  const connect = () => {
    report('connecting');
    const url = new URL(loki + 'tail', location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    url.search = new URLSearchParams({ query, start, limit: last ? catchUp : 500, watched: 1, categorize: 1 });
    socket = new WebSocket(url);
    socket.onopen = () => {
      wait = 1000;
      reason = '';
      report('open');
    };
    socket.onmessage = (e) => {
      const message = JSON.parse(e.data);
      if ('watched' in message) report(message.watched ? 'watched' : 'open');
      let all = toRecords(message);
      if (!all.length) return;
      if (resumed) {
        resumed = false;
        if (nanosOf(all[0]) > last.at) {
          // They begin with the newest that is shown, unless that is not among the newest catchUp any more.
          missing = `records are missing before ${all[0].time.slice(11, 19)} UTC`;
          report(status);
        }
        all = all.filter((one) => nanosOf(one) > last.at || (nanosOf(one) === last.at && !last.lines.has(one.line)));
        if (!all.length) return;
      }
      const at = nanosOf(all[all.length - 1]);
      if (!last || at > last.at) last = { at, lines: new Set() };
      for (const one of all) if (nanosOf(one) === last.at) last.lines.add(one.line);
      onRecords(all);
    };
    socket.onclose = (e) => {
      if (ended) return;
      reason = e.reason || reason;
      onStatus('closed', reason || 'the connection ended');
      if (last) {
        start = last.at.toString();
        resumed = true;
      }
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
