// How a list shows records: its columns and their widths.

import { valueOf } from './fields.js';
import { formatDate } from './time.js';

/** widthOf is the width of a column in characters. */
function widthOf(records, name) {
  const longest = records.slice(0, 200).reduce((most, one) => Math.max(most, (valueOf(one, name) || '').length), name.length);
  return Math.max(5, Math.min(32, longest)) + 1;
}

const messageWidth = 30;

/** layoutOf is how a list shows records. */
export function layoutOf(state, columns, records) {
  const services = new Set(records.slice(0, 500).map((one) => one.service)).size > 1;
  const dated = records.length > 0 && formatDate(records[0].ms, state.tz) !== formatDate(Date.now(), state.tz);
  const spread = records.length > 1 && formatDate(records[0].ms, state.tz) !== formatDate(records[records.length - 1].ms, state.tz);
  const time = dated || spread ? 27 : 16;
  const fields = columns.map((name) => widthOf(records, name));
  const own = [8, ...(services ? [Math.min(20, widthOf(records, 'service_name'))] : [])];
  const template = (widths) => [...widths.map((w) => `${w}ch`), `minmax(${messageWidth}ch, 1fr)`].join(' ');
  const least = (widths) => `${widths.reduce((sum, w) => sum + w + 2, messageWidth + 4)}ch`;
  return {
    columns, services, dated: dated || spread, lines: state.lines === 'all' ? 'all' : state.lines === '3' ? 3 : 1, zone: state.tz, raw: state.format === 'raw', sort: state.sort || (state.order === 'newest' ? '-time' : 'time'),
    style: {
      '--template': template([time, ...own, ...fields]), '--least': least([time, ...own, ...fields]),
      '--narrow-template': template([time, ...fields]), '--narrow-least': least([time, ...fields]),
    },
  };
}
