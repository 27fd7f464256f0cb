// Why a query finds nothing or is invalid, which the server explains, and its corrections, each applied with one click.

import { html, useEffect, useState } from './vendor/htm-preact.js';
import { explainQuery } from './search.js';
import { Button } from './ui.js';

/** wants reports whether what was found needs an explanation: nothing, or a mistake in the query. */
const wants = (found) =>
  Boolean(found.range) &&
  ((found.status === 'error' && isMistake(found.error)) ||
    (found.status === 'done' && (found.kind === 'metric' ? found.result?.length === 0 : found.kind === 'nothing' ? found.histogram?.total === 0 : !found.records.length)));

/** isMistake reports whether an error is a mistake in the text of a query. */
export const isMistake = (error) => error?.status === 400 && /^parse error/.test(error.message);

const none = { reasons: [], busy: false };

/** useExplanation asks why a search found nothing: {reasons, busy}. Without an answer there are no reasons. */
export function useExplanation(found, state) {
  const [answer, setAnswer] = useState(none); // of the search that mine is
  const wanted = wants(found) && !state.live;
  const key = wanted ? `${found.query} ${found.range.from} ${found.range.to} ${found.status}` : '';
  useEffect(() => {
    setAnswer(none);
    if (!key) return undefined;
    const controller = new AbortController();
    setAnswer({ reasons: [], busy: true });
    explainQuery(state, found.range, controller.signal)
      .then(({ reasons }) => setAnswer({ key, reasons, busy: false }))
      .catch((error) => error.name === 'AbortError' || setAnswer(none));
    return () => controller.abort();
  }, [key]);
  return answer.key === key ? answer : { ...none, busy: answer.busy };
}

/** place is the mistake to mark in the query bar: its start and end in characters, if the text is still that of the query. */
export function place(explanation, text, state) {
  const mistake = explanation.reasons.find((one) => one.code === 'mistake' && one.end > one.start);
  return mistake && text === state.q ? mistake : null;
}

/** Reasons lists why nothing was found. A click on a correction applies it. */
export function Reasons({ explanation, actions }) {
  if (explanation.busy) return html`<p class="working">Looking for the reason …</p>`;
  if (!explanation.reasons.length) return null;
  return html`<ul class="reasons" aria-label="Reasons">
    ${explanation.reasons.map(
      ({ text, corrections }) => html`<li key=${text}>
        <p>${text}</p>
        ${corrections.length > 0 &&
        html`<p class="buttons">${corrections.map((one) => html`<${Button} icon=${one.from ? 'clock' : 'play'} class="correction" label=${one.label} hint=${one.query} onClick=${() => apply(one, actions)} />`)}</p>`}
      </li>`,
    )}
  </ul>`;
}

function apply({ query, ignore_case: ignoreCase, from, to }, actions) {
  if (from) actions.onChange({ from, to });
  else if (ignoreCase) actions.onCase(false);
  else actions.onQuery(query);
}

/** Place marks a part of the query bar's text, behind its text. */
export function Place({ text, at }) {
  if (!at) return null;
  const all = [...text];
  const part = (from, to) => all.slice(from, to).join('');
  return html`<div class="place" aria-hidden="true">${part(0, at.start)}<mark>${part(at.start, at.end)}</mark>${part(at.end)}</div>`;
}

/** MatchCase is the button that makes the case of words matter. */
export const MatchCase = ({ pressed, disabled, onCase }) =>
  html`<button
    type="button" id="case" class="case" aria-pressed=${String(pressed)} disabled=${disabled} aria-label="Match the case of words"
    title=${disabled ? 'The case of words; LogQL has its own: |~ "(?i)text"' : 'Match the case of words (a)'} onClick=${() => onCase(!pressed)}>Aa</button>`;
