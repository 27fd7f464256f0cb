// Ranges as they are typed.

import { calendarRanges, isRelative, parseDuration, parseTime } from './time.js';

const longUnits = [[/\s*(?:milliseconds?|millis)\b/g, 'ms'], [/\s*(?:seconds?|secs?)\b/g, 's'], [/\s*(?:minutes?|mins?)\b/g, 'm'], [/\s*(?:hours?|hrs?)\b/g, 'h'], [/\s*days?\b/g, 'd'], [/\s*weeks?\b/g, 'w']];

/** durationOf is a duration in short form: 2h of "2 hours", 1h of "hour"; "" of others. */
function durationOf(text) {
  let short = text.toLowerCase().replace(/^(?=[a-z])/, '1 ');
  for (const [long, unit] of longUnits) short = short.replace(long, unit);
  short = short.replace(/\s+/g, '');
  return parseDuration(short) > 0 ? short : '';
}

/** stateTime is a time as the state has it: one that moves with the clock, or in UTC. */
function stateTime(text, now, zone) {
  const t = text.trim();
  const day = /^(today|yesterday|tomorrow)(?:\s+(\S.*))?$/i.exec(t);
  if (day) {
    const start = `now${{ today: '', yesterday: '-1d', tomorrow: '+1d' }[day[1].toLowerCase()]}/d`;
    if (!day[2]) return start;
    const clock = /^(\d\d?):(\d\d)(?::(\d\d))?$/.exec(day[2]);
    if (!clock) return '';
    const date = new Date(parseTime(start, now, zone) + 432e5).toISOString().slice(0, 10);
    return stateTime(`${date} ${clock[1].padStart(2, '0')}:${clock[2]}:${clock[3] || '00'}`, now, zone);
  }
  const ago = /^(.+?)\s+ago$/i.exec(t);
  if (ago) return durationOf(ago[1]) && `now-${durationOf(ago[1])}`;
  const ms = parseTime(t, now, zone);
  if (Number.isNaN(ms)) return '';
  if (isRelative(t)) return t.replace(/\s+/g, '');
  return /^[-+/]/.test(t) ? `now${t.replace(/\s+/g, '')}` : new Date(ms).toISOString();
}

/**
 * parseRange reads a range as people type it: {from, to} of the state, or null. "2h" and "last 2 hours" end now, as does a time alone; a date
 * alone is that day.
 */
export function parseRange(text, now, zone) {
  const t = text.trim().replace(/\s+/g, ' ');
  const named = calendarRanges.find(([, , name]) => name.toLowerCase() === t.toLowerCase());
  if (named) return { from: named[0], to: named[1] };
  const last = /^(?:(?:the )?(?:last|past|previous)\s+|-)?(.+)$/i.exec(t);
  const length = last && !last[1].includes('/') && durationOf(last[1]);
  if (length) return { from: `now-${length}`, to: 'now' };
  const day = /^(\d{4})-(\d\d)-(\d\d)$/.exec(t);
  if (day) {
    const from = parseTime(t, now, zone);
    if (Number.isNaN(from)) return null;
    const next = new Date(Date.UTC(day[1], day[2] - 1, Number(day[3]) + 1)).toISOString().slice(0, 10);
    return { from: new Date(from).toISOString(), to: new Date(parseTime(next, now, zone)).toISOString() };
  }
  const two = /^(.+?)(?:\s+(?:to|until|-|–)\s+|\s*(?:\.\.+|–|→)\s*)(.+)$/i.exec(t);
  const [a, b] = two ? [two[1], two[2]] : [t, 'now'];
  const from = stateTime(a, now, zone);
  // The end may be a time of the day of the start.
  const date = two && /^\d{4}-\d\d-\d\d/.exec(a);
  const to = stateTime(date && /^\d\d:\d\d/.test(b) ? `${date[0]} ${b}` : b, now, zone);
  if (!from || !to || parseTime(from, now, zone) >= parseTime(to, now, zone)) return null;
  return { from, to };
}

/** relativeCommand are the arguments of logq for a range that moves with the clock; none if it has no words for it. */
export function relativeCommand({ from, to }) {
  if (to === 'now') {
    if (from === 'now/d') return ['--since', 'today'];
    const since = /^now-([^/]+)$/.exec(from);
    return since ? ['--since', since[1]] : [];
  }
  return from === 'now-1d/d' && to === 'now/d' ? ['--from', 'yesterday', '--to', 'today'] : [];
}
