// The query of the page as a command line of logq.

import { relativeCommand } from './range.js';
import { rfc3339, formatDuration } from './time.js';

/** shellQuote quotes an argument for a POSIX shell. */
export const shellQuote = (text) => (/^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

const line = (args) => args.map(shellQuote).join(' ');

/** rangeOf are the arguments of a range: of one that moves with the clock, if relative is set and the state has one. */
function rangeOf(range, state, relative) {
  const moving = relative ? relativeCommand(state) : [];
  return moving.length ? moving : ['--from', rfc3339(range.from), '--to', rfc3339(range.to)];
}

/** command is the logq command that answers the same. relative uses a range that moves with the clock where the state has one. */
export function command({ query, kind, range, state, limit = 0, relative = false }) {
  const args = ['logq', 'ql', ...rangeOf(range, state, relative)];
  if (kind !== 'metric') {
    if (state.order === 'newest') args.push('--newest');
    if (limit) args.push('-n', String(limit));
  } else args.push('--step', formatDuration(range.step));
  return line([...args, query]);
}
