// The time under the pointer, which charts of one time axis share.

import { useChanges } from './ui.js';

/** createCursor is a time in ms and the chart that has the pointer; null without one. */
export function createCursor() {
  const listeners = new Set();
  let current = null;
  return {
    get: () => current,
    set(next) {
      if (next?.at === current?.at && next?.owner === current?.owner) return;
      current = next;
      listeners.forEach((f) => f());
    },
    subscribe(f) {
      listeners.add(f);
      return () => listeners.delete(f);
    },
  };
}

const none = { get: () => null, set() {}, subscribe: () => () => {} };

/** useCursor is the time that another chart has under the pointer, null without one, and what reports the own one. cursor may be undefined. */
export function useCursor(cursor = none, owner) {
  const now = useChanges(cursor);
  return [now && now.owner !== owner ? now.at : null, (at) => cursor.set(at === null ? null : { at, owner })];
}
