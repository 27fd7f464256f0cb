// The query of the page as a command line of logq.

import { rfc3339, formatDuration } from './time.js';

/** shellQuote quotes an argument for a POSIX shell. */
export const shellQuote = (text) => (/^[A-Za-z0-9_./:=@%+-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

/** command is the logq command that answers the same. relative uses a range before now where the state has one. */
export function command({ query, kind, range, state, limit = 0, relative = false }) {
  const args = ['logq', 'ql'];
  const since = relative && state.to === 'now' && /^now-(\S+)$/.exec(state.from);
  if (since) args.push('--since', since[1]);
  else args.push('--from', rfc3339(range.from), '--to', rfc3339(range.to));
  if (kind === 'metric') args.push('--step', formatDuration(range.step));
  else {
    if (state.order === 'newest') args.push('--newest');
    if (limit) args.push('-n', String(limit));
  }
  args.push(query);
  return args.map(shellQuote).join(' ');
}
