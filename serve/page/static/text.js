// Messages as text: nothing in them is markup, control bytes are shown, and marks that change the direction of text have no effect.

import { html } from './vendor/htm-preact.js';
import { coloursOf } from './ansi.js';

// Control characters except TAB and line feed, marks of direction, characters without width, separators of lines.
// eslint-disable-next-line no-control-regex
const special = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff]/g;
const names = { '\r': '\\r', '\u001b': '\\e', '\u0000': '\\0', '\u0007': '\\a', '\b': '\\b', '\f': '\\f', '\v': '\\v' };

const nameOf = (c) => {
  if (names[c]) return names[c];
  const code = c.charCodeAt(0);
  return code < 256 ? '\\x' + code.toString(16).padStart(2, '0') : 'U+' + code.toString(16).toUpperCase().padStart(4, '0');
};

const maxMarks = 500;

/** cut is at most n characters of a text, and no half of one. */
export function cut(text, n) {
  if (text.length <= n) return text;
  const code = text.charCodeAt(n - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? n - 1 : n);
}

/** pieces splits a text into {text, kind}: plain, control or hit. oneLine shows line feeds too. */
export function pieces(text, marks = [], oneLine = false) {
  const found = [];
  const add = (start, end, kind) => {
    if (found.length < maxMarks) found.push({ start, end, kind });
  };
  special.lastIndex = 0;
  for (let m = special.exec(text); m; m = special.exec(text)) add(m.index, m.index + 1, 'control');
  if (oneLine) for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) add(i, i + 1, 'control');
  for (const mark of marks) {
    mark.lastIndex = 0;
    for (let m = mark.exec(text); m && found.length < maxMarks; m = mark.exec(text)) {
      if (m[0]) add(m.index, m.index + m[0].length, 'hit');
      else mark.lastIndex++;
    }
  }
  if (!found.length) return [{ text, kind: 'plain' }];
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  const all = [];
  let at = 0;
  for (const { start, end, kind } of found) {
    if (start < at) continue;
    if (start > at) all.push({ text: text.slice(at, start), kind: 'plain' });
    all.push({ text: kind === 'control' ? (text[start] === '\n' ? '\\n' : nameOf(text[start])) : text.slice(start, end), kind });
    at = end;
  }
  if (at < text.length) all.push({ text: text.slice(at), kind: 'plain' });
  return all;
}

function shown(text, marks, oneLine) {
  const all = pieces(text, marks, oneLine);
  if (all.length === 1 && all[0].kind === 'plain') return all[0].text;
  return all.map(({ text: part, kind }) => {
    if (kind === 'plain') return part;
    return kind === 'hit' ? html`<mark>${part}</mark>` : html`<span class="control">${part}</span>`;
  });
}

/** Text shows a message or a value, in the colours that it has for a terminal; raw shows their sequences instead. */
export function Text({ text, marks, oneLine, raw }) {
  const { text: plain, spans } = raw ? { text, spans: [] } : coloursOf(text);
  if (!spans.length) return shown(plain, marks, oneLine);
  let at = 0;
  const all = [];
  const add = (end, style) => {
    const part = plain.slice(at, end);
    if (part) all.push(style ? html`<span class=${style}>${shown(part, marks, oneLine)}</span>` : shown(part, marks, oneLine));
    at = end;
  };
  for (const { start, end, style } of spans) {
    add(start);
    add(end, style);
  }
  add(plain.length);
  return all;
}

/** printable is a text with its control characters shown, for names and titles. */
export const printable = (text) => pieces(text, [], true).map((p) => p.text).join('');
