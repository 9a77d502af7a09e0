// Values of every type, both ways: as arguments of a traversal and as variables of a text; and what this driver can't
// send or read.

'use strict';

const assert = require('node:assert/strict');
const gremlin = require('gremlin');
const { clear, connect, one, refused, say } = require('./support');
const { P, t, direction } = gremlin.process;
const { toLong } = gremlin.structure;

// Values that come back as they were sent, and what the server takes them for.
const VALUES = [
  [true, 'BOOLEAN'], [false, 'BOOLEAN'],
  [7, 'INT'], [-(2 ** 31), 'INT'], [2 ** 31 - 1, 'INT'],
  [2 ** 31, 'LONG'], [Number.MAX_SAFE_INTEGER, 'LONG'], [Number.MIN_SAFE_INTEGER, 'LONG'],
  [0.1, 'DOUBLE'], [-5e-324, 'DOUBLE'], [1e300, 'DOUBLE'], [Infinity, 'DOUBLE'], [-Infinity, 'DOUBLE'], [NaN, 'DOUBLE'],
  ['', 'STRING'], ['ä\0\u2028 😀\u{10ffff}', 'STRING'],
  [new Date(1706933106789), 'DATETIME'], [new Date(253402300799999), 'DATETIME'],
  [[1, 'a', [null, []]], 'LIST'], [new Map([['a', 1], [2, [3]], ['b', null]]), 'MAP'], [new Set([1, 'a']), 'SET'],
];
// In GraphSON the driver can send neither.
const BINARY_VALUES = [
  [7n, 'BIGINT'], [1n << 80n, 'BIGINT'], [-(1n << 63n) - 1n, 'BIGINT'], [Buffer.from([0, 255]), 'BINARY'],
];

module.exports = {
  async argumentsAndVariablesOfEveryType({ g, client, isBinary }) {
    for (const [value, kind] of isBinary ? [...VALUES, ...BINARY_VALUES] : VALUES) {
      assert.deepEqual(await g.inject(value).is(P.typeOf(kind)).toList(), [value]);
      const results = await client.submit(`g.inject(x).is(P.typeOf(GType.${kind}))`, { x: value });
      assert.deepEqual(results.toArray(), [value]);
    }
    for (const value of [null, t.id, t.label, direction.out, new Map([[t.id, 1]])]) {
      assert.deepEqual(await g.inject(value).toList(), [value]);
      assert.deepEqual((await client.submit('g.inject(x)', { x: value })).toArray(), [value]);
    }
    assert.deepEqual(await g.inject([1, 2], [3]).toList(), [[1, 2], [3]]);
    // An object is sent as a map.
    assert.deepEqual(await one(g.inject({ a: 1 })), new Map([['a', 1]]));
  },

  async literalsOfEveryType({ client, isBinary }) {
    const uuid = '41d2e28a-20a4-4ab0-b379-d810dede3786';
    const texts = {
      '1b': 1, '2s': 2, '3i': 3, '4l': 4, '5n': isBinary ? 5n : 5, '0.5f': 0.5, '0.1d': 0.1, "'ä😀'": 'ä😀', null: null,
      [`UUID('${uuid}')`]: uuid, 'T.id': t.id, 'Direction.IN': direction.in,
      "datetime('2024-02-03T04:05:06.789-05:30')": new Date(1706952906789),
    };
    for (const [text, value] of Object.entries(texts)) {
      assert.deepEqual((await client.submit(`g.inject(${text})`)).first(), value, text);
    }
  },

  async whatTheDriverCannotSendOrRead({ g, client, isBinary, url, mimeType }) {
    // A number is a double: a long loses digits.
    assert.equal((await client.submit('g.inject(9007199254740993l)')).first(), 2 ** 53);
    assert.ok(Object.is(await one(g.inject(-0)), 0));
    await clear(g);
    await say('sample');
    if (!isBinary) {
      assert.equal(await one(g.V().values('date')), '2024-02-03');
      assert.equal(await one(g.inject(toLong('7')).is(P.typeOf('LONG'))), 7);
      await assert.rejects(g.inject(1n).next(), TypeError);
      const bytes = await one(g.inject(Buffer.from([0, 255])));
      assert.deepEqual(bytes, new Map([['type', 'Buffer'], ['data', [0, 255]]]));
      assert.equal((await client.submit('g.inject(1.25m)')).first(), 1.25);
      return;
    }
    assert.deepEqual(await one(g.inject(toLong('7'))), new Map([['value', '7']]));
    assert.deepEqual(await one(g.inject(new Date('0001-01-01'))), new Date('1901-01-01'));
    // What it cannot read is an error that nobody can catch, and ends the program.
    for (const text of ["g.V().values('date')", "g.V().values('period')", 'g.inject(1.25m)', 'g.inject(1).tree()', "g.E().subgraph('s').cap('s')"]) {
      const lost = connect(url, mimeType);
      const error = await new Promise((resolve, reject) => {
        process.once('uncaughtException', resolve);
        lost.client.submit(text).then(reject, () => {});
      });
      assert.match(error.message, /unknown \{type_code\}/);
      lost.close();
    }
    const error = await refused(client.submit("g.inject('x').math('_')"));
    assert.equal(error.statusCode, 597);
  },
};
