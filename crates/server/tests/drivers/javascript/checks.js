// Checks a server with npm's gremlin, as its users query it: `node checks.js ws://127.0.0.1:8182/gremlin`.
//
// Each function of `checks` is one check, run in both formats; the last line says how many passed. The program that
// runs this restarts the server when it reads the line "restart", and then writes a line.

'use strict';

const assert = require('node:assert/strict');
const gremlin = require('gremlin');
const { DriverRemoteConnection, Client, ResponseError } = gremlin.driver;
const { traversal } = gremlin.process.AnonymousTraversalSource;
const { P, order, t, direction, statics: __ } = gremlin.process;
const { Edge, Path, Property, Vertex, VertexProperty, toLong } = gremlin.structure;

const url = process.argv[2];
const FORMATS = ['application/vnd.graphbinary-v1.0', 'application/vnd.gremlin-v3.0+json'];
const ENDLESS = 'g.inject(1).repeat(__.identity()).until(__.is(2))';

function connect(mimeType) {
  const connection = new DriverRemoteConnection(url, { mimeType });
  const client = new Client(url, { mimeType, traversalSource: 'g' });
  return { connection, client, g: traversal().with_(connection), isBinary: mimeType === FORMATS[0] };
}

/** The error that `promise` ends with. */
async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof ResponseError, error);
    return error;
  }
  throw new Error('an error was expected');
}

async function one(query) {
  return (await query.next()).value;
}

const clear = (g) => g.V().drop().iterate();

/** The next line of the program that runs this. */
function line() {
  return new Promise((resolve) => {
    process.stdin.ref().resume();
    process.stdin.once('data', (data) => {
      process.stdin.pause();
      // A pipe that was read once keeps the program alive.
      process.stdin.unref();
      resolve(data.toString());
    });
  });
}

const checks = {
  async valuesOfEveryType({ g, client, isBinary }) {
    const values = [
      null, true, false, 1, -5, 2 ** 40, 1.5, 'text', 'ä😀', new Date(1706933106789), [1, ['a']],
      new Map([['a', 1], ['b', null]]), new Set([1, 'a']),
    ];
    // In GraphSON the driver can't write a BigInt.
    if (isBinary) values.push(1n << 80n);
    for (const value of values) {
      assert.deepEqual(await g.inject(value).toList(), [value]);
      const results = await client.submit('g.inject(x)', { x: value });
      // A list among arguments of a text is one value, too.
      assert.deepEqual(results.toArray(), [value]);
    }
    assert.deepEqual(await g.inject(Infinity, NaN).toList(), [Infinity, NaN]);
    // In GraphBinary the driver sends what toLong makes as a map.
    if (!isBinary) assert.equal(await one(g.inject(toLong('7')).math('_ + 1')), 8);
    const texts = {
      '7b': 7, '7s': 7, '7l': 7, '1.25d': 1.25, '1.5f': 1.5,
      "UUID('41d2e28a-20a4-4ab0-b379-d810dede3786')": '41d2e28a-20a4-4ab0-b379-d810dede3786',
    };
    for (const [text, value] of Object.entries(texts)) {
      assert.deepEqual((await client.submit(`g.inject(${text})`)).first(), value, text);
    }
    if (isBinary) {
      const bytes = Buffer.from([0, 255]);
      assert.deepEqual((await client.submit('g.inject(x)', { x: bytes })).first(), bytes);
    }
  },

  async elements({ g }) {
    await clear(g);
    const ann = await one(g.addV('person').property('name', 'ann').property('age', 41));
    assert.ok(ann instanceof Vertex && ann.label === 'person', ann);
    const bob = await one(g.addV('person').property('name', 'bob'));
    const edge = await one(g.V(ann.id).addE('knows').to(__.V(bob.id)).property('since', 1833));
    assert.ok(edge instanceof Edge, edge);
    assert.deepEqual([edge.outV.id, edge.inV.id, edge.label], [ann.id, bob.id, 'knows']);
    const found = [].concat(...Object.values((await one(g.V(ann))).properties));
    const values = new Map(found.map((property) => [property.key, property.value]));
    assert.deepEqual(values, new Map([['name', 'ann'], ['age', 41]]));
    const property = await one(g.V(ann).properties('name'));
    assert.ok(property instanceof VertexProperty && property.value === 'ann', property);
    const since = await one(g.E(edge).properties());
    assert.ok(since instanceof Property && since.value === 1833, since);
    const path = await one(g.V(ann).as('a').outE('knows').inV().values('name').path());
    assert.ok(path instanceof Path && path.objects.length === 4 && path.objects[3] === 'bob', path);
    assert.deepEqual(await one(g.V(ann).valueMap()), new Map([['name', ['ann']], ['age', [41]]]));
    const map = await one(g.E(edge).elementMap());
    assert.equal(map.get(t.label), 'knows');
    assert.equal(map.get(direction.out).get(t.id), ann.id);
    assert.deepEqual(await one(g.V().groupCount().by('name')), new Map([['ann', 1], ['bob', 1]]));
    assert.deepEqual(await g.V().values('name').order().by(order.desc).toList(), ['bob', 'ann']);
    assert.equal(await one(g.V().has('age', P.gt(40)).count()), 1);
    assert.deepEqual(await g.V().has('name', P.within('bob', 'eve')).id().toList(), [bob.id]);
    assert.deepEqual(await g.V().has('name', 'nobody').toList(), []);
  },

  async bulk({ g }) {
    const values = await g.inject(...Array(1000).fill(1)).barrier().toList();
    assert.deepEqual(values, Array(1000).fill(1));
  },

  async transactions({ g }) {
    await clear(g);
    const count = () => one(g.V().count());
    let tx = g.tx();
    let within = tx.begin();
    // Sent at once; a session runs them in order.
    const names = ['ann', 'bob', 'eve'];
    const added = names.map((name) => one(within.addV('person').property('name', name).values('name')));
    assert.deepEqual(await Promise.all(added), names);
    assert.equal(await one(within.V().count()), 3);
    assert.equal(await count(), 0);
    await tx.commit();
    assert.equal(await count(), 3);
    tx = g.tx();
    within = tx.begin();
    await within.addV('person').iterate();
    await tx.rollback();
    assert.equal(await count(), 3);
    // Closed without either: rolled back.
    tx = g.tx();
    await tx.begin().addV('person').iterate();
    tx.close();
    assert.equal(await count(), 3);
  },

  async conflicts({ g }) {
    await clear(g);
    await g.addV('counter').property('value', 0).iterate();
    const [first, second] = [g.tx(), g.tx()];
    const [inFirst, inSecond] = [first.begin(), second.begin()];
    await inFirst.V().property('value', 1).iterate();
    // `isOpen` says true until the connection is closed, some time after the commit: it can't tell which is left.
    const writes = await Promise.allSettled([inSecond.V().property('value', 2).iterate()]);
    await first.commit();
    const ended = writes[0].status === 'rejected' ? Promise.reject(writes[0].reason) : second.commit();
    const error = await refused(ended);
    if (writes[0].status === 'rejected') await second.rollback();
    assert.equal(error.statusCode, 596);
    assert.match(error.message, /conflict/);
    assert.equal(error.statusAttributes.get('kind'), 'conflict');
    assert.equal(await one(g.V().values('value')), 1);
  },

  async errors({ g, client }) {
    let error = await refused(g.inject(1).fail('no stock').next());
    assert.equal(error.statusCode, 595);
    assert.match(error.message, /no stock/);
    error = await refused(client.submit('g.V().otu()'));
    assert.equal(error.statusCode, 597);
    const found = ['kind', 'line', 'column'].map((name) => error.statusAttributes.get(name));
    assert.deepEqual(found, ['invalid', 1, 7]);
    // In a transaction, a failed write leaves nothing but a rollback.
    const tx = g.tx();
    const within = tx.begin();
    await refused(within.addV('person').fail('no').iterate());
    error = await refused(within.V().count().next());
    assert.match(error.message, /rolled back/);
    await tx.rollback();
  },

  async timeOuts({ g, client }) {
    let error = await refused(client.submit(ENDLESS, null, { evaluationTimeout: 100 }));
    assert.equal(error.statusCode, 598);
    const endless = g.with_('evaluationTimeout', 100).inject(1).repeat(__.identity()).until(__.is(2));
    error = await refused(endless.next());
    assert.equal(error.statusCode, 598);
  },

  async manyAtOnce({ client }) {
    const numbers = [...Array(1000).keys()];
    const results = await Promise.all(numbers.map((x) => client.submit('g.inject(x)', { x })));
    assert.deepEqual(results.map((result) => result.first()), numbers);
  },

  async manyRows({ g, client, isBinary }) {
    await clear(g);
    await g.inject(0).repeat(__.union(__.identity(), __.identity())).times(10).limit(1000).addV('point').iterate();
    const count = isBinary ? 1_000_000 : 100_000;
    const text = `g.V().as('a').V().as('b').select('b').id().limit(${count})`;
    let rows = 0;
    for await (const part of client.stream(text)) rows += part.length;
    assert.equal(rows, count);
    assert.equal((await client.submit(text)).length, count);
  },

  async twentyMegabytesInAHundredRows({ g, client }) {
    await clear(g);
    const text = 'x'.repeat(200_000);
    const query =
      'g.inject(0).repeat(__.union(__.identity(), __.identity())).times(7).limit(100)' +
      ".addV('document').property('text', text).iterate()";
    await client.submit(query, { text });
    const found = await g.V().hasLabel('document').values('text').toList();
    assert.ok(found.length === 100 && found.every((one) => one === text));
    await clear(g);
  },

  async reconnects({ g, client }) {
    await clear(g);
    await g.addV('person').iterate();
    const tx = g.tx();
    await tx.begin().addV('person').iterate();
    console.log('restart');
    await line();
    // A connection that closed opens again with the next request; its transaction is gone.
    assert.equal(await one(g.V().count()), 1);
    assert.equal((await client.submit('g.V().count()')).first(), 1);
  },
};

async function main() {
  let passed = 0;
  for (const mimeType of FORMATS) {
    const context = connect(mimeType);
    for (const [name, check] of Object.entries(checks)) {
      const began = Date.now();
      try {
        await check(context);
      } catch (error) {
        console.error(`${name} as ${mimeType} failed`);
        throw error;
      }
      console.log(`${name}: ${Date.now() - began} ms`);
      passed += 1;
    }
    await context.client.close();
    await context.connection.close();
  }
  console.log(`${passed} passed`);
}

main();
