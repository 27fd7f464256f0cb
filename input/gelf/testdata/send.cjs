// Sends COUNT messages with gelf-pro: node send.cjs DIR ADAPTER PORT COUNT. The texts of every tenth
// are long and hardly compressible, so that they are sent in chunks.
const [dir, adapter, port, count] = process.argv.slice(2);
const { createHash } = require('crypto');
const gelf = require(require.resolve('gelf-pro', { paths: [dir] }));

gelf.setConfig({
  adapterName: adapter,
  adapterOptions: { host: '127.0.0.1', port: Number(port), protocol: 'udp4', family: 4 },
  fields: { app: 'Shop' },
});

function text(i) {
  let t = `order ${i} "failed" ✓\n  at line`;
  for (let k = 0; i % 10 === 0 && k < 100; k++) {
    t += createHash('sha256').update(`${i} ${k}`).digest('hex');
  }
  return t;
}

function send(i) {
  if (i === Number(count)) return;
  gelf.error(text(i), { order: { id: i } }, (err) => {
    if (err) throw err;
    setImmediate(send, i + 1);
  });
}
send(0);
