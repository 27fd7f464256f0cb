// Prints a Parquet file as JSON: its schema, metadata and rows. Text must be UTF-8.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [modules, path] = process.argv.slice(2)
const { parquetMetadata, parquetReadObjects } = await import(pathToFileURL(modules + '/hyparquet/src/index.js'))
const bytes = readFileSync(path)
const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)
const metadata = parquetMetadata(file)
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const parsers = {
  stringFromBytes: text => text && decoder.decode(text),
  timestampFromNanoseconds: n => ({ nanoseconds: n.toString() }),
}
const plain = (_, v) => typeof v === 'bigint' ? { int: v.toString() } : v
console.log(JSON.stringify({
  types: metadata.schema.slice(1).map(c => [c.name, c.type, c.logical_type?.type ?? '', c.repetition_type].join(' ')),
  groups: metadata.row_groups.length,
  metadata: Object.fromEntries((metadata.key_value_metadata ?? []).map(m => [m.key, m.value])),
  rows: await parquetReadObjects({ file, parsers }),
}, plain))
