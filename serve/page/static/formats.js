// Text formats whose fields the page finds, each by a regular expression; the beginning of it is the stage of LogQL that finds one
// field. Names and values are those that logq finds in such a line.

const time = String.raw`\[[^\]]+\] `;
const request = String.raw`"(?:(?P<method>[A-Z]+) (?:[a-z]+://(?P<host>[^/ "?]*))?(?P<path>[^ "?]*)(?:\?(?P<query>[^ "]*))?(?: (?P<protocol>[^ "]+))?|[^"]*)"`;
const access =
  String.raw`^(?P<ip>\S+) (?:-|(?P<ident>\S+)) (?:-|(?P<user>[^\["]+)) \[[^\]]+\] ` + request + String.raw` (?:-|(?P<status>\d+)) (?:-|(?P<bytes>\d+))`;
const agents = String.raw` "(?:-|(?P<referer>[^"]*))" "(?:-|(?P<user_agent>[^"]*))"`;
const upstream = (name) => ` (?:-|(?P<${name}>[^ ,]+(?:, [^ ,]+)*))`;

const expressions = [
  {
    title: 'ingress-nginx',
    upTo: time,
    expr:
      access + agents + String.raw` (?P<request_length>\d+) (?P<duration>[\d.]+) \[(?:-|(?P<proxy_upstream_name>[^\]]*))\] \[(?P<proxy_alternative_upstream_name>[^\]]*)\]` +
      ['upstream_addr', 'upstream_response_length', 'upstream_response_time', 'upstream_status'].map(upstream).join('') + String.raw` (?P<req_id>\S+)`,
  },
  { title: 'nginx and Apache', upTo: time, expr: `${access}(?:${agents})?` },
  {
    title: 'Envoy',
    upTo: time,
    expr:
      String.raw`^\[[^\]]+\] ` + request + String.raw` (?P<status>\d+) (?:-|(?P<response_flags>\S+)) (?P<bytes_received>\d+) (?P<bytes>\d+) (?:-|(?P<duration>\d+)) (?:-|(?P<x_envoy_upstream_service_time>\d+))` +
      ['x_forwarded_for', 'user_agent', 'x_request_id', 'authority', 'upstream_host'].map((name) => ` "(?:-|(?P<${name}>[^"]*))"`).join(''),
  },
  {
    title: 'HAProxy',
    upTo: String.raw`/(?P<server_name>\S+) `,
    expr:
      String.raw`^(?:.*: )?(?P<ip>\S+):(?P<client_port>\d+) \[[^\]]+\] (?P<frontend_name>\S+) (?P<backend_name>[^ /]+)/(?P<server_name>\S+) (?P<TR>-?\d+)/(?P<Tw>-?\d+)/(?P<Tc>-?\d+)/(?P<Tr>-?\d+)/\+?(?P<duration>\d+)` +
      String.raw` (?P<status>-?\d+) \+?(?P<bytes>\d+) \S+ \S+ (?P<termination_state>\S{4}) .*` + request,
  },
  {
    title: 'AWS ALB',
    upTo: String.raw`(?P<target_port>\d+)) `,
    expr:
      String.raw`^(?P<type>(?:https?|h2|grpcs|wss?)) \S+ (?P<elb>\S+) \[?(?P<ip>[^\s\]]+)\]?:(?P<client_port>\d+) (?:-|\[?(?P<target_ip>[^\s\]]+)\]?:(?P<target_port>\d+)) (?P<request_processing_time>\S+) (?P<target_processing_time>\S+) (?P<response_processing_time>\S+)` +
      String.raw` (?:-|(?P<status>\d+)) (?:-|(?P<target_status_code>\d+)) (?P<received_bytes>\d+) (?P<bytes>\d+) ` + request + String.raw` "(?:-|(?P<user_agent>[^"]*))"`,
  },
  { title: 'klog', upTo: String.raw`\.\d+ +`, expr: String.raw`^(?P<severity>[IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +(?P<thread>\d+) (?P<file>[^ :]+):(?P<line>\d+)\] ` },
].map((one) => ({ ...one, least: one.expr.indexOf(one.upTo) + one.upTo.length, regexp: new RegExp(one.expr.replaceAll('(?P<', '(?<')) }));

const group = /\(\?P<\w+>((?:\\.|\[(?:\\.|[^\]])*\]|\((?:\\.|\[(?:\\.|[^\]])*\]|[^()[\\])*\)|[^()[\\])*)\)/g;
const orMissing = /\(\?:-\|(\\S\+|\[\^(?:\\.|[^\]])*\][+*])\)/g;

/** stageOf is the stage that finds a field of a format: the expression up to it, and at least so far that other lines do not match, without the other names. */
function stageOf({ expr, least }, name) {
  for (const found of expr.matchAll(group)) {
    if (!found[0].startsWith(`(?P<${name}>`)) continue;
    const end = found.index + found[0].length;
    const plain = (text) => text.replace(request, '"[^"]*"').replace(group, '$1').replace(orMissing, '$1');
    const before = plain(expr.slice(0, found.index));
    if (end < least) return `regexp \`${before}${found[0]}${plain(expr.slice(end, least))}\``;
    const open = before.replace(/\\.|\[(?:\\.|[^\]])*\]/g, '').replace(/[^()]/g, '');
    let depth = 0;
    for (const c of open) depth += c === '(' ? 1 : -1;
    const behind = /^\)* ?"? ?/.exec(expr.slice(end))[0].replace(/^\)*/, ')'.repeat(depth));
    return `regexp \`${before}${found[0]}${behind}\``;
  }
  return '';
}

/** formatOf is the format of a line with its fields and what stands behind them, {title, stage, values, rest}; stage is a function of a field's name. null if it is none. */
export function formatOf(line) {
  for (const one of expressions) {
    const found = one.regexp.exec(line);
    if (found) return { title: one.title, stage: (name) => stageOf(one, name), values: Object.entries(found.groups).filter(([, value]) => value), rest: line.slice(found[0].length) };
  }
  return null;
}

/** all are the formats, for tests. */
export const all = () => expressions.map(({ title, expr }) => ({ title, expr }));
