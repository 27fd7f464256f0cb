// Sends COUNT log records with a client library of the Fluent Forward protocol,
// and waits for all acknowledgements:
//   node send.cjs SENDERS_DIR MODE HOST:PORT COUNT|COUNT:lines [SHARED_KEY [USER PASSWORD [CA_FILE CERT_FILE KEY_FILE]]]
const fs = require('node:fs')
const path = require('node:path')
const [, , senders, eventMode, address, count, sharedKey, username, password, ca, cert, key] = process.argv
const need = require('node:module').createRequire(path.join(senders, 'package.json'))
const { FluentClient, EventTime } = need('@fluent-org/logger')
const lines = count.endsWith(':lines') // of an application, half of them with another member
const [host, port] = address.split(':')
const client = new FluentClient('shop', {
  eventMode,
  ack: { ackTimeout: 5000 },
  eventRetry: { attempts: 20, minDelay: 50, maxDelay: 200 },
  flushInterval: 20,
  socket: { host, port: Number(port), timeout: 3000, reconnect: { minDelay: 50, maxDelay: 200 }, tls: ca ? { ca: fs.readFileSync(ca), cert: fs.readFileSync(cert), key: fs.readFileSync(key) } : undefined },
  security: sharedKey ? { clientHostname: 'client', sharedKey, username, password } : undefined,
  onSocketError: (err) => console.error(String(err)),
  disconnect: { waitForPending: true }
})
process.exitCode = 1 // it ends with nothing to wait for when it is refused
async function send () {
  const all = []
  for (let i = 0; i < parseInt(count); i++) {
    const at = new EventTime(1795000000, i * 1000)
    const line = `{"time":"2026-11-18T11:06:${String(i % 40).padStart(2, '0')}Z","level":"warn","msg":"order ${i} \\"failed\\" ✓"}`
    all.push(client.emit('cart', lines ? (i % 2 ? { log: line + '\n' } : { log: line, stream: 'stdout' }) : { log: `order ${i} "failed" ✓\n  at line`, level: 'error', order: { id: i, ratio: 0.5, ok: false, tags: ['a', 'b'] } }, at))
    if (i % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 5)) // several messages
  }
  await Promise.all(all)
  await client.shutdown()
  process.exitCode = 0
}
send().catch((err) => {
  console.error(err)
  process.exit(1)
})
