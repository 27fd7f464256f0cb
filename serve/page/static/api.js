// Requests to the server.

/** ApiError is an answer that is not one. status 0 is no answer. */
export class ApiError extends Error {
  constructor(status, text) {
    const [message, ...hints] = text.trim().split(/\nhint: /);
    super(message || `status ${status}`);
    this.status = status;
    this.hints = hints;
  }
}

let denied = false;
let unauthorized = () => {};

/** onUnauthorized sets what is called when the server requires a token, or did already. */
export function onUnauthorized(f) {
  unauthorized = f;
  if (denied) f();
}

/** loki and own are the prefixes of the paths. */
export const loki = '/loki/api/v1/';
export const own = '/logstow/api/v1/';

const maxURL = 6000;

async function send(path, params, signal) {
  const body = new URLSearchParams(params);
  const long = body.toString().length > maxURL;
  let response;
  try {
    response = await fetch(long ? path : `${path}?${body}`, { method: long ? 'POST' : 'GET', body: long ? body : undefined, signal });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new ApiError(0, 'cannot reach the server');
  }
  if (response.ok) return response;
  if (response.status === 401) {
    denied = true;
    unauthorized();
  }
  throw new ApiError(response.status, await response.text().catch(() => ''));
}

/** getJSON is an answer. */
export async function getJSON(path, params = {}, signal = undefined) {
  const response = await send(path, params, signal);
  try {
    return await response.json();
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new ApiError(0, 'the response is incomplete: the connection closed early');
  }
}

/** series is the result of a metric query. */
export async function series(path, params, signal) {
  return (await getJSON(loki + path, params, signal)).data.result;
}

/** identity are the labels of every record, which are members of it, and labels its others. */
export function identity({ service_name: service = '', level = 'unknown', instance = '', ...labels }) {
  delete labels.detected_level;
  return { service, level, instance, labels };
}

/** toRecord makes a record of one of the API. */
export function toRecord({ time, labels, source = '', fields, text, parsed, repeats, bytes, invalid, line }) {
  return { ms: Date.parse(time.slice(0, 23) + 'Z'), below: time.slice(23, 29), time, line, repeats, bytes, invalid, fields, text, parsed, source, ...identity(labels) };
}

/** nanosOf is the time of a record in nanoseconds. */
export const nanosOf = (record) => BigInt(record.ms) * 1000000n + BigInt(record.below || '0');

/** records calls onBatch with records as they come. */
export async function records(params, signal, onBatch) {
  const response = await send(own + 'records', params, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = [];
  for (;;) {
    let chunk;
    try {
      chunk = await reader.read();
    } catch (err) {
      if (err.name === 'AbortError') throw err;
      throw new ApiError(0, 'the response is incomplete: the connection closed early');
    }
    if (chunk.done) return;
    const end = chunk.value.lastIndexOf('\n');
    if (end < 0) {
      rest.push(chunk.value);
      continue;
    }
    const text = rest.join('') + chunk.value.slice(0, end);
    rest = [chunk.value.slice(end + 1)];
    onBatch(text.split('\n').map((one) => toRecord(JSON.parse(one))));
  }
}

/** readAll are all records of an answer. */
export async function readAll(params, signal) {
  const all = [];
  await records(params, signal, (batch) => all.push(...batch));
  return all;
}

/** login sends a token; the answer sets a cookie. */
export async function login(token) {
  const response = await fetch('/login', { method: 'POST', body: new URLSearchParams({ token }) });
  if (!response.ok) throw new ApiError(response.status, await response.text());
}

/** logout deletes the cookie of the login. */
export const logout = () => fetch('/logout', { method: 'POST' });
