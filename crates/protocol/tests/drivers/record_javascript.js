// Records what JavaScript's driver 3.8 sends, and checks that it reads what Evergraph's encoder writes.
//
//     npm install gremlin@3.8
//     node crates/protocol/tests/drivers/record_javascript.js NODE_MODULES    # the absolute path of node_modules
//
// Files are as in record_python.py: javascript_requests.txt, javascript_results.txt.

const fs = require('fs');
const path = require('path');
const modules = process.argv[2];
const gremlin = require(path.join(modules, 'gremlin'));
const { WebSocketServer } = require(path.join(modules, 'ws'));
const { version } = require(path.join(modules, 'gremlin/package.json'));
const { t, P, order } = gremlin.process;
const __ = gremlin.process.statics;

const MIME = {
  graphbinary: 'application/vnd.graphbinary-v1.0',
  graphson: 'application/vnd.gremlin-v3.0+json',
};

// Ids of requests and sessions are counted, so that a record changes only with the driver.
let counter = 0;
const uuid = () => '45000000-0000-4000-8000-' + (++counter).toString(16).padStart(12, '0');

function answer(message, code) {
  const body = message.subarray(1 + message[0]);
  if (message[0] === 0x20) {
    const status = Buffer.alloc(4);
    status.writeInt32BE(code);
    return Buffer.concat([Buffer.from([0x81, 0]), body.subarray(1, 17), status, Buffer.from([1]), Buffer.alloc(8), Buffer.from([0xfe, 1])]);
  }
  const id = JSON.parse(body.toString()).requestId['@value'];
  const none = { '@type': 'g:Map', '@value': [] };
  const status = { code, message: '', attributes: none };
  return JSON.stringify({ requestId: id, status, result: { data: null, meta: none } });
}

async function requests(format) {
  const found = [];
  let name = '';
  let challenges = 0;
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await new Promise((resolve) => server.on('listening', resolve));
  server.on('connection', (socket) => {
    socket.on('message', (data) => {
      const message = Buffer.from(data);
      found.push([name, format, replaceIds(Buffer.from(message), format).toString('hex')].join('\t'));
      socket.send(answer(message, challenges-- > 0 ? 407 : 204));
    });
  });
  const url = `ws://127.0.0.1:${server.address().port}/gremlin`;
  const options = { mimeType: MIME[format], traversalSource: 'social' };
  const connection = new gremlin.driver.DriverRemoteConnection(url, options);
  const g = gremlin.process.AnonymousTraversalSource.traversal().with_(connection);
  const record = async (title, run) => {
    name = title;
    await run();
  };
  await record('a traversal', () => g.V().has('person', 'age', P.gt(30)).where(__.out('knows')).values('name').toList());
  await record('options', () => g.with_('evaluationTimeout', 500).with_('batchSize', 10).V().toList());
  await record('values', () => g.inject(1, 1.5, 'é', true, null, gremlin.structure.toLong(7), [1, 'a']).toList());
  await record('steps', () => g.V().order().by('name', order.desc).valueMap(true).select(t.id).toList());
  const transaction = g.tx();
  const inTransaction = transaction.begin();
  await record('in a transaction', () => inTransaction.addV('person').iterate());
  await record('commit', async () => {
    await transaction.commit();
    // The end of the session is sent, and not waited for.
    await new Promise((resolve) => setTimeout(resolve, 200));
  });
  const client = new gremlin.driver.Client(url, options);
  await record('a text', () => client.submit('g.V().has("age", gt(age))', { age: 30 }));
  await record('a text without variables', () => client.submit('g.V()', null, { batchSize: 2 }));
  const authenticator = new gremlin.driver.auth.PlainTextSaslAuthenticator('stephen', 'secret');
  const locked = new gremlin.driver.Client(url, { ...options, authenticator });
  await record('a log-in', () => {
    challenges = 1;
    return locked.submit('g.V()');
  });
  for (const each of [connection, client, locked]) await each.close();
  server.close();
  return found;
}

const known = new Map();

function replaceIds(message, format) {
  if (format === 'graphson') {
    const text = message.toString().replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, counted);
    return Buffer.from(text);
  }
  const body = message.subarray(33);
  const id = counted(body.subarray(1, 17).toString('hex'));
  Buffer.from(id.replaceAll('-', ''), 'hex').copy(body, 1);
  const rest = body.subarray(17).toString('latin1');
  const session = rest.replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, counted);
  return Buffer.concat([message.subarray(0, 33), body.subarray(0, 17), Buffer.from(session, 'latin1')]);
}

function counted(id) {
  if (!known.has(id)) known.set(id, uuid());
  return known.get(id);
}

function plain(value) {
  const { Vertex, Edge, VertexProperty, Property, Path } = gremlin.structure;
  const all = (values) => [...(values ?? [])].map(plain).join(', ');
  if (value instanceof VertexProperty) return `VertexProperty(${plain(value.id)}, ${value.label}, ${plain(value.value)}, [${all(value.properties)}])`;
  if (value instanceof Property) return `Property(${value.key}, ${plain(value.value)})`;
  if (value instanceof Vertex) return `Vertex(${plain(value.id)}, ${value.label}, [${all(flat(value.properties))}])`;
  if (value instanceof Edge) {
    return `Edge(${plain(value.id)}, ${value.label}, ${plain(value.outV)} -> ${plain(value.inV)}, [${all(flat(value.properties))}])`;
  }
  if (value instanceof Path) return `Path(${JSON.stringify(value.labels.map((labels) => [...labels]))}, [${all(value.objects)}])`;
  if (value instanceof Map) return `{${[...value].map(([key, found]) => `${plain(key)}: ${plain(found)}`).join(', ')}}`;
  if (value instanceof Set) return `Set(${all(value)})`;
  if (Array.isArray(value)) return `[${all(value)}]`;
  if (Buffer.isBuffer(value)) return `Buffer(${value.toString('hex')})`;
  if (value instanceof Date) return `Date(${value.toISOString()})`;
  if (value?.constructor?.name === 'Traverser') return `${plain(value.bulk)} x ${plain(value.object)}`;
  if (value?.typeName !== undefined) return `${value.typeName}.${value.elementName}`;
  if (typeof value === 'bigint') return `${value}n`;
  return JSON.stringify(value) ?? String(value);
}

// Properties are a list, or an object of lists or single ones by key.
function flat(properties) {
  return Array.isArray(properties) ? properties : Object.values(properties ?? {}).flat();
}

async function results(folder) {
  const found = [];
  for (const line of fs.readFileSync(path.join(folder, 'frames.txt'), 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [name, format, digits] = line.split('\t');
    const connection = new gremlin.driver.DriverRemoteConnection('ws://127.0.0.1:1', { mimeType: MIME[format], connectOnStartup: false });
    const reader = connection._client._connection._reader;
    let text;
    try {
      const bytes = Buffer.from(digits, 'hex');
      const { requestId, status, result } = await reader.readResponse(bytes);
      if (requestId !== '41d2e28a-20a4-4ab0-b379-d810dede3786') throw new Error(`another id: ${requestId}`);
      text = `${status.code} ${JSON.stringify(status.message ?? '')} ${plain(status.attributes)} ${plain(result.data)}`;
    } catch (error) {
      text = `refused: ${String(error.message).replace(/\s+/g, ' ').slice(-60)}`;
    }
    found.push([name, format, text].join('\t'));
  }
  return found;
}

function write(folder, name, lines) {
  const head = `# Made by record_javascript.js with npm's gremlin ${version}.`;
  fs.writeFileSync(path.join(folder, name), [head, ...lines].join('\n') + '\n');
}

(async () => {
  const lines = [];
  for (const format of Object.keys(MIME)) lines.push(...(await requests(format)));
  write(__dirname, 'javascript_requests.txt', lines);
  write(__dirname, 'javascript_results.txt', await results(__dirname));
  process.exit(0);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
