// Sends COUNT log records with OpenTelemetry's own exporters:
//   node send.cjs SENDERS_DIR http-json|http-proto|grpc URL COUNT [lines|attributes]
// lines: as lines of an application that nothing is known about; attributes: with an attribute.
const path = require('node:path')
const [, , senders, kind, url, count, lines] = process.argv
const need = require('node:module').createRequire(path.join(senders, 'package.json'))
const { SeverityNumber } = need('@opentelemetry/api-logs')
const { LoggerProvider, BatchLogRecordProcessor } = need('@opentelemetry/sdk-logs')
const { resourceFromAttributes } = need('@opentelemetry/resources')
const exporters = {
  'http-json': '@opentelemetry/exporter-logs-otlp-http',
  'http-proto': '@opentelemetry/exporter-logs-otlp-proto',
  grpc: '@opentelemetry/exporter-logs-otlp-grpc'
}
const { OTLPLogExporter } = need(exporters[kind])
const zip = kind === 'http-proto' ? { compression: 'gzip' } : {}
const exporter = new OTLPLogExporter({ url, ...zip })
if (lines) { // without the SDK's scope, which agents do not send
  const send = exporter.export.bind(exporter)
  exporter.export = (records, done) => send(records.map((r) => Object.create(r, { instrumentationScope: { value: { name: '' } } })), done)
}
const provider = new LoggerProvider({
  resource: resourceFromAttributes(lines ? {} : { 'service.name': 'Shop Cart', 'service.instance.id': 'cart-1' }),
  processors: [new BatchLogRecordProcessor({ exporter, maxQueueSize: 10000, maxExportBatchSize: 200 })]
})
const logger = provider.getLogger('checkout', '1.2.3')
const trace = '5b8efff798038103d269b633813fc60c'
const span = 'eee19b7ec3c1b174'
const { ROOT_CONTEXT, trace: api } = need('@opentelemetry/api')
const context = api.setSpanContext(ROOT_CONTEXT, { traceId: trace, spanId: span, traceFlags: 1 })
for (let i = 0; lines && i < Number(count); i++) {
  provider.getLogger('').emit({
    timestamp: [1795000000, i * 1000],
    body: `{"time":"2026-11-18T11:06:${String(i % 40).padStart(2, '0')}Z","level":"warn","msg":"order ${i} \\"failed\\" ✓"}\n`,
    attributes: lines === 'attributes' ? { file: 'a.log' } : undefined
  })
}
for (let i = 0; !lines && i < Number(count); i++) {
  logger.emit({
    timestamp: [1795000000, i * 1000],
    severityNumber: SeverityNumber.ERROR,
    severityText: 'Error',
    body: `order ${i} "failed" ✓\n  at line`,
    attributes: { 'order.id': i, ratio: 0.5, ok: false, tags: ['a', 'b'] },
    context
  })
}
provider.forceFlush().then(() => provider.shutdown()).catch((err) => {
  console.error(err)
  process.exit(1)
})
