// Running a query again as often as the state says.

import { useEffect } from './vendor/htm-preact.js';
import { isRelative, parseDuration } from './time.js';

/** useRefresh runs the query of a state again and again, unless the page is hidden, the query still runs, or its range does not move. */
export function useRefresh(state, search, get) {
  useEffect(() => {
    const every = parseDuration(state.refresh || '');
    if (!every || state.live || !isRelative(state.to)) return undefined;
    const timer = setInterval(() => !document.hidden && ['done', 'error'].includes(search.get().status) && search.run(get()), every);
    return () => clearInterval(timer);
  }, [state.refresh, state.live, state.q, state.to]);
}
