// One record with all of its fields, the whole of its message, and the records around it.

import { html, useEffect, useMemo, useState } from './vendor/htm-preact.js';
import { Button, Failure, copy, notify } from './ui.js';
import { nanosOf, readAll } from './api.js';
import { bytes } from './format.js';
import { Context } from './context.js';
import { RecordFields } from './recordfields.js';
import { formatOffset, formatTime } from './time.js';
import { cut, Text } from './text.js';

const shownAtFirst = 20_000;

/** wholeOf reads a record whose line was cut. */
async function wholeOf(record, query, signal) {
  const at = nanosOf(record);
  const all = await readAll({ query, start: at.toString(), end: (at + 1n).toString(), direction: 'forward' }, signal);
  return all.find((one) => one.service === record.service && one.instance === record.instance && one.line.startsWith(record.line.slice(0, -4)));
}

/** useWhole reads the rest of a record whose line the list has cut: it returns {record} or {record, busy} or {record, error}. */
function useWhole(record, query) {
  const [whole, setWhole] = useState({ record });
  useEffect(() => {
    if (record.bytes === undefined) return undefined;
    const controller = new AbortController();
    setWhole({ record, of: record, busy: true });
    wholeOf(record, query, controller.signal).then(
      (found) => setWhole(found ? { record: found, of: record } : { record, of: record, error: new Error('the record no longer exists') }),
      (error) => error.name !== 'AbortError' && setWhole({ record, of: record, error }),
    );
    return () => controller.abort();
  }, [record, query]);
  return whole.of === record ? whole : { record, busy: record.bytes !== undefined };
}

function Message({ whole, marks, raw }) {
  const { record } = whole;
  const [all, setAll] = useState(false);
  useEffect(() => setAll(false), [record]);
  const { line } = record;
  const pretty = useMemo(() => prettyJSON(line), [line]);
  const [formatted, setFormatted] = useState(false);
  const text = formatted && pretty ? pretty : line;
  const visible = all ? text : cut(text, shownAtFirst);
  const copyMessage = async () => (await copy(line)) && notify('Message copied');
  return html`<section class="detail-message" aria-label="Message">
    <header>
      <h3>Message</h3>
      ${pretty && html`<${Button} label="Format JSON" pressed=${formatted} onClick=${() => setFormatted(!formatted)} />`}
      <${Button} icon="copy" label="Copy message" iconOnly disabled=${Boolean(record.bytes)} onClick=${copyMessage} />
    </header>
    ${record.invalid && html`<p class="remark">Bytes that are not UTF-8 are shown as �. A download as text has them as logged.</p>`}
    <pre tabindex="0" aria-label="Text of the message"><bdi dir="ltr"><${Text} text=${visible} marks=${all ? [] : marks} raw=${raw} /></bdi></pre>
    ${(record.bytes || visible.length < text.length) &&
    html`<p class="remark">
      ${`${bytes(visible.length)} of ${bytes(record.bytes ?? text.length)} are shown.`}
      ${whole.busy ? html` <span class="working">Reading the rest …</span>` : visible.length < text.length && html` <button type="button" class="link" id="show-all" onClick=${() => setAll(true)}>Show all</button>`}
    </p>`}
    ${whole.error && html`<${Failure} title="Cannot read the record" error=${whole.error} />`}
  </section>`;
}

function prettyJSON(text) {
  if (text.length > 262144 || !/^\s*[{[]/.test(text)) return '';
  try {
    const pretty = JSON.stringify(JSON.parse(text), null, 2);
    return pretty === text ? '' : pretty;
  } catch {
    return '';
  }
}

/** Detail is the panel beside the list. */
export function Detail({ record, index, total, found, state, marks, columns, tab, actions, onTab, onClose, onMove }) {
  const query = state.q;
  const whole = useWhole(record, found.listed);
  const tabs = [['fields', 'Record'], ['context', 'Context']];
  const digits = record.below && record.below !== '000000' ? 9 : 3;
  return html`<aside class=${`detail level-${record.level}`} aria-label="Record">
    <h2 class="sr">Record</h2>
    <header class="detail-head">
      <span class=${`badge level-${record.level}`}>${record.level}</span>
      <time datetime=${record.time}>${formatTime(record.ms, state.tz, digits, record.below)} <span class="remark">${formatOffset(record.ms, state.tz)}</span></time>
      <span class="detail-buttons">
        <${Button} icon="left" class="up" iconOnly label="Previous record" disabled=${index <= 0} onClick=${() => onMove(-1)} />
        <${Button} icon="right" class="up" iconOnly label="Next record" disabled=${index >= total - 1} onClick=${() => onMove(1)} />
        <${Button} icon="close" iconOnly label="Close record" onClick=${onClose} />
      </span>
    </header>
    <div class="tabs" role="group" aria-label="Record or context">
      ${tabs.map(([id, text]) => html`<button type="button" key=${id} id=${`tab-${id}`} aria-pressed=${String(tab === id)} onClick=${() => onTab(id)}>${text}</button>`)}
    </div>
    <div class=${`detail-body ${tab}`}>
      ${tab === 'context'
        ? html`<${Context} key=${record.time + index} ...${{ record, state, columns, marks }} />`
        : html`<${Message} ...${{ whole, marks }} raw=${state.format === 'raw'} /><${RecordFields} key=${record.time + index} record=${whole.record} ...${{ query, found, columns, actions }} />`}
    </div>
  </aside>`;
}
