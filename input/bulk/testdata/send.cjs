// Sends COUNT documents with Elasticsearch's client, by its bulk API and by its helper:
//   node send.cjs SENDERS_DIR URL COUNT API_KEY
const path = require('node:path')
const [, , senders, node, count, apiKey] = process.argv
const need = require('node:module').createRequire(path.join(senders, 'package.json'))
const { Client } = need('@elastic/elasticsearch')
const client = new Client({ node, auth: { apiKey }, compression: true, maxRetries: 0 })
function document (i) {
  return { '@timestamp': new Date(1795000000000 + i).toISOString(), service: { name: 'Shop Cart' }, 'log.level': i % 2 ? 'error' : 'info', message: `order ${i} "failed" ✓`, time: 'never' }
}
async function send () {
  if (!await client.ping()) throw new Error('no ping')
  const info = await client.info()
  if (info.tagline !== 'You Know, for Search') throw new Error(JSON.stringify(info))
  const operations = []
  for (let i = 0; i < Number(count); i++) operations.push({ create: { _index: 'logs' } }, document(i))
  operations.push({ delete: { _index: 'logs', _id: '1' } })
  const answer = await client.bulk({ operations })
  const rejected = answer.items.filter((item) => item.delete && item.delete.status === 400)
  if (!answer.errors || rejected.length !== 1 || answer.items.filter((item) => item.create && item.create.status === 201).length !== Number(count)) {
    throw new Error(JSON.stringify(answer).slice(0, 1000))
  }
  const result = await client.helpers.bulk({
    datasource: Array.from({ length: Number(count) }, (_, i) => document(i)),
    onDocument: () => ({ index: { _index: 'helper' } }),
    flushBytes: 10000
  })
  if (result.successful !== Number(count) || result.failed !== 0) throw new Error(JSON.stringify(result))
}
send().then(() => process.exit(0), (err) => {
  console.error(err)
  process.exit(1)
})
