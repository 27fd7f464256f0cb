// Sends COUNT log records with a Loki transport of winston:
//   node send.cjs SENDERS_DIR json|protobuf URL COUNT [USER:PASSWORD]
const path = require('node:path')
const [, , senders, kind, host, count, basicAuth] = process.argv
const need = require('node:module').createRequire(path.join(senders, 'package.json'))
if (kind === 'protobuf') need('snappy') // without it the transport falls back to JSON
const winston = need('winston')
const LokiTransport = need('winston-loki')
const transport = new LokiTransport({
  host,
  basicAuth,
  json: kind === 'json',
  replaceTimestamp: false,
  clearOnError: false,
  gracefulShutdown: false,
  interval: 1,
  timeout: 5000,
  labels: { service_name: 'Shop Cart', env: 'prod', host: 'a' },
  format: winston.format.printf(({ message }) => message),
  onConnectionError: (err) => { console.error(String(err)); process.exit(1) }
})
const logger = winston.createLogger({ level: 'debug', transports: [transport] })
async function send () {
  for (let i = 0; i < Number(count); i++) {
    logger.log({ level: i % 2 ? 'error' : 'info', message: `order ${i} "failed" \\ ✓\n  at line`, timestamp: 1795000000000 + i })
  }
  await new Promise((resolve) => setTimeout(resolve, 100)) // winston passes on later
  await transport.flush()
  process.exit(0)
}
send().catch((err) => {
  console.error(err)
  process.exit(1)
})
