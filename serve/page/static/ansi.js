// Colours of terminals in messages: escape sequences as spans of a text, each with classes of the style sheet.

const maxSpans = 1000; // about

// Select graphic rendition, and erase in line, which has no effect here.
// eslint-disable-next-line no-control-regex
const sequence = /\u001b\[(?:([0-9;:]{0,60})m|[0-2]?K)/g;

const hues = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
const flags = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline', 7: 'inverse', 9: 'strike' };
const ends = { 22: ['bold', 'dim'], 23: ['italic'], 24: ['underline'], 27: ['inverse'], 29: ['strike'], 39: ['text'], 49: ['back'] };

/** nearest is the hue of a colour. */
function nearest(r, g, b) {
  const [max, min] = [Math.max(r, g, b), Math.min(r, g, b)];
  if (max - min < 40) return max < 64 ? 'black' : max < 192 ? 'grey' : 'white';
  const middle = (max + min) / 2;
  return hues[(r > middle ? 1 : 0) + (g > middle ? 2 : 0) + (b > middle ? 4 : 0)];
}

const cube = (n) => (n ? 55 + n * 40 : 0);

function indexed(n) {
  if (n < 16) return n === 8 ? 'grey' : hues[n % 8];
  if (n < 232) return nearest(cube(Math.floor((n - 16) / 36)), cube(Math.floor((n - 16) / 6) % 6), cube((n - 16) % 6));
  return nearest(...Array(3).fill((n - 232) * 10 + 8));
}

/** apply changes a style by the parameters of a sequence. Those without a meaning here are ignored. */
function apply(style, parameters) {
  const all = parameters.split(/[;:]/).map(Number);
  for (let i = 0; i < all.length; i++) {
    const n = all[i];
    if (n === 0) for (const name of Object.keys(style)) delete style[name];
    else if (flags[n]) style[flags[n]] = true;
    else if (ends[n]) for (const name of ends[n]) delete style[name];
    else if (n >= 30 && n <= 37) style.text = hues[n - 30];
    else if (n >= 40 && n <= 47) style.back = hues[n - 40];
    else if (n >= 90 && n <= 97) style.text = n === 90 ? 'grey' : hues[n - 90];
    else if (n >= 100 && n <= 107) style.back = n === 100 ? 'grey' : hues[n - 100];
    else if (n === 38 || n === 48) {
      const parts = { 2: 3, 5: 1 }[all[i + 1]] || 0;
      const values = all.slice(i + 2, i + 2 + parts);
      i += 1 + parts;
      if (parts && values.length === parts) style[n === 38 ? 'text' : 'back'] = parts === 3 ? nearest(...values) : indexed(values[0] & 255);
    }
  }
}

const classes = ({ text, back, ...rest }) => [text && `ansi-${text}`, back && `ansi-on-${back}`, ...Object.keys(rest).map((name) => `ansi-${name}`)].filter(Boolean).join(' ');

/** coloursOf takes the sequences out of a text: it returns the rest, and its spans {start, end, style}. After many, sequences are left in it. */
export function coloursOf(text) {
  if (!text.includes('\u001b[')) return { text, spans: [] };
  const style = {};
  const spans = [];
  let [plain, at] = ['', 0];
  const add = (part) => {
    const name = part && classes(style);
    if (name) spans.push({ start: plain.length, end: plain.length + part.length, style: name });
    plain += part;
  };
  for (const m of text.matchAll(sequence)) {
    if (spans.length >= maxSpans) break;
    add(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[1] !== undefined) apply(style, m[1]);
  }
  add(text.slice(at));
  return { text: plain, spans };
}
