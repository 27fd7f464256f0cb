// The panel of the range: ranges before now, a range as text, a calendar, and the zone.

import { html, useRef, useState } from './vendor/htm-preact.js';
import { parseRange } from './range.js';
import { calendarRanges, formatDate, formatOffset, formatTime, isRelative, isZone, parseTime, relativeRanges, zoneName, zones } from './time.js';
import { Button } from './ui.js';

const input = (text, zone, now) => (isRelative(text) ? text : formatTime(parseTime(text, now, zone), zone, 3).replace('.000', ''));

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const monthName = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** shifted is a date so many days later. */
const shifted = (date, days) => new Date(Date.parse(`${date}T00:00:00Z`) + days * 864e5).toISOString().slice(0, 10);

/** weeksOf are the weeks of a month, 2026-11, as dates. */
function weeksOf(month) {
  const first = Date.parse(`${month}-01T00:00:00Z`);
  let day = shifted(`${month}-01`, -((new Date(first).getUTCDay() + 6) % 7));
  const weeks = [];
  while (weeks.length < 6 && (weeks.length < 4 || day.slice(0, 7) <= month)) {
    weeks.push(Array.from({ length: 7 }, (_, i) => shifted(day, i)));
    day = shifted(day, 7);
  }
  return weeks;
}

/** Calendar chooses days: the first and the last of the range. */
function Calendar({ first, last, today, onDays }) {
  const [month, setMonth] = useState((last || today).slice(0, 7));
  const [start, setStart] = useState(''); // the first day, until there is a last one
  const [at, setAt] = useState(last || today); // where arrow keys are
  const table = useRef();
  const show = (date, focus) => {
    setAt(date);
    setMonth(date.slice(0, 7));
    if (focus) requestAnimationFrame(() => table.current?.querySelector(`[data-date="${date}"]`)?.focus());
  };
  const pick = (date) => {
    setAt(date);
    if (!start) {
      setStart(date);
      onDays(date, date);
      return;
    }
    setStart('');
    onDays(...[start, date].sort());
  };
  const turn = (by) => {
    const [year, number] = month.split('-').map(Number);
    show(new Date(Date.UTC(year, number - 1 + by, 1)).toISOString().slice(0, 10));
  };
  const onKeyDown = (e) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7, PageUp: -28, PageDown: 28 }[e.key];
    if (!by) return;
    show(shifted(at, by), true);
    e.preventDefault();
    e.stopPropagation();
  };
  const weeks = weeksOf(month);
  const focused = weeks.flat().includes(at) ? at : `${month}-01`;
  return html`<div class="calendar">
    <div class="calendar-head">
      <${Button} icon="left" iconOnly label="Previous month" onClick=${() => turn(-1)} />
      <span aria-live="polite">${monthName.format(Date.parse(`${month}-01T00:00:00Z`))}</span>
      <${Button} icon="right" iconOnly label="Next month" onClick=${() => turn(1)} />
    </div>
    <table ref=${table} role="grid" aria-label="Days of the range" onKeyDown=${onKeyDown}>
      <thead><tr>${weekdays.map((name) => html`<th scope="col" abbr=${name}>${name.slice(0, 2)}</th>`)}</tr></thead>
      <tbody>${weeks.map((days) => html`<tr>${days.map((date) => {
        const inside = first && date >= first && date <= last;
        const names = [date.slice(0, 7) === month ? '' : 'other', inside ? 'inside' : '', date === first || date === last ? 'edge' : '', date === today ? 'today' : ''];
        return html`<td aria-selected=${String(Boolean(inside))}><button
          type="button" class=${`plain day ${names.join(' ')}`} data-date=${date} tabindex=${date === focused ? 0 : -1} aria-label=${`${Number(date.slice(8))} ${monthName.format(Date.parse(`${date}T00:00:00Z`))}`}
          aria-current=${date === today ? 'date' : undefined} onClick=${() => pick(date)}>${Number(date.slice(8))}</button></td>`;
      })}</tr>`)}</tbody>
    </table>
  </div>`;
}

const texts = { from: 'From is not a time.', to: 'To is not a time.', order: 'The range ends before it starts.', zone: 'This zone is unknown.', text: 'This is not a range. Examples: last 15m, 2h, today, -1d/d, 10:00 to 11:30, 2026-11-20.' };

/** RangePanel edits the range and the zone; onChange gets them. */
export function RangePanel({ state, onChange, close }) {
  const now = Date.now();
  const [text, setText] = useState('');
  const [from, setFrom] = useState(input(state.from, state.tz, now));
  const [to, setTo] = useState(input(state.to, state.tz, now));
  const [zone, setZone] = useState(state.tz);
  const valid = isZone(zone) ? zone : 'local';
  const [a, b] = [parseTime(from, now, valid), parseTime(to, now, valid)];
  const typed = text.trim() ? parseRange(text, now, valid) : null;
  const fault = Number.isNaN(a) ? 'from' : Number.isNaN(b) ? 'to' : b <= a ? 'order' : '';
  const wrong = !isZone(zone) ? 'zone' : text.trim() ? (typed ? '' : 'text') : fault;
  const store = (value, ms) => (isRelative(value.trim()) ? value.trim() : new Date(ms).toISOString());
  const choose = (range) => {
    onChange({ ...range, tz: valid });
    close();
  };
  const apply = (e) => {
    e.preventDefault();
    if (!wrong) choose(typed || { from: store(from, a), to: store(to, b) });
  };
  const onDays = (first, last) => {
    setText('');
    setFrom(`${first} 00:00:00`);
    setTo(`${shifted(last, 1)} 00:00:00`);
  };
  const dayOf = (ms) => (Number.isNaN(ms) ? '' : formatDate(ms, valid));
  const all = [...relativeRanges.map(([value, label]) => [value, 'now', label]), ...calendarRanges];
  return html`<div class="range-panel">
    <ul aria-label="Ranges before now">
      ${all.map(([start, end, label]) => html`<li key=${label}><button type="button" class="plain choice" aria-pressed=${String(state.from === start && state.to === end)} onClick=${() => choose({ from: start, to: end })}>${label}</button></li>`)}
    </ul>
    <form onSubmit=${apply}>
      <label>Range<input id="range-text" autofocus=${!matchMedia('(pointer: coarse)').matches} value=${text} placeholder="last 15m, today, -1d/d, 10:00 to 11:30" onInput=${(e) => setText(e.target.value)} aria-invalid=${String(wrong === 'text')} aria-describedby="range-remark" spellcheck=${false} autocomplete="off" /></label>
      <div class="range-times">
        <label>From<input id="range-from" value=${from} onInput=${(e) => setFrom(e.target.value)} onFocus=${() => setText('')} aria-invalid=${String(wrong === 'from')} spellcheck=${false} autocomplete="off" /></label>
        <label>To<input id="range-to" value=${to} onInput=${(e) => setTo(e.target.value)} onFocus=${() => setText('')} aria-invalid=${String(wrong === 'to')} spellcheck=${false} autocomplete="off" /></label>
      </div>
      <${Calendar} key=${valid} first=${dayOf(a)} last=${dayOf(b - 1)} today=${formatDate(now, valid)} onDays=${onDays} />
      <div class="range-zone">
        <label>Zone<input id="range-zone" list="zones" value=${zone} onInput=${(e) => setZone(e.target.value)} aria-invalid=${String(wrong === 'zone')} spellcheck=${false} autocomplete="off" /></label>
        <span class="tabs" role="group" aria-label="Zone">
          ${[['UTC', 'UTC'], ['local', 'Browser']].map(([value, name]) => html`<button type="button" aria-pressed=${String(zone === value)} onClick=${() => setZone(value)}>${name}</button>`)}
        </span>
      </div>
      <datalist id="zones"><option value="local" /><option value="UTC" />${zones().map((name) => html`<option value=${name} />`)}</datalist>
      <p class="remark" id="range-remark" role="status">${wrong ? html`<span class="bad">${texts[wrong]}</span>` : `${zoneName(valid)}, ${formatOffset(now, valid)}${typed ? `: ${input(typed.from, valid, now)} to ${input(typed.to, valid, now)}` : ''}`}</p>
      <button class="button primary" disabled=${Boolean(wrong)}>Apply</button>
    </form>
  </div>`;
}
