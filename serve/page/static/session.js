// The state and the search of this page. The search begins as soon as this has loaded, while the views still load.

import { createQueries } from './queries.js';
import { createSearch } from './search.js';
import { createStore } from './state.js';

/** store is the state of the page, search what its query found. */
export const store = createStore();
export const search = createSearch();

/** queries are those that this browser remembers. */
export const queries = createQueries();

if (!store.get().live) search.run(store.get());
