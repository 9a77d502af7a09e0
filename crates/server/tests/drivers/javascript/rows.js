// Many rows in order, and large ones.

'use strict';

const assert = require('node:assert/strict');
const gremlin = require('gremlin');
const { clear } = require('./support');
const { statics: __ } = gremlin.process;

module.exports = {
  async manyRowsInOrder({ g, client, isBinary }) {
    await clear(g);
    await g.inject(0).repeat(__.union(__.identity(), __.identity())).times(9).limit(500).addV('point').iterate();
    const ids = await g.V().id().toList();
    assert.equal(new Set(ids).size, 500);
    // GraphSON is slow in this driver.
    const first = isBinary ? ids : ids.slice(0, 50);
    const query = ['g.V(first).V().id()', { first }];
    let rows = 0;
    for await (const part of client.stream(...query)) {
      for (const row of part) {
        if (row !== ids[rows % 500]) assert.fail(`row ${rows}: ${row}`);
        rows += 1;
      }
    }
    assert.equal(rows, first.length * 500);
    const all = await client.submit(...query);
    assert.equal(all.length, first.length * 500);
  },

  async twentyMegabytesInAHundredRows({ g, client }) {
    await clear(g);
    const text = 'x'.repeat(200_000);
    const query =
      'g.inject(0).repeat(__.union(__.identity(), __.identity())).times(7).limit(100)' +
      ".addV('document').property('text', text).iterate()";
    await client.submit(query, { text });
    for (const found of [
      await g.V().hasLabel('document').values('text').toList(),
      (await client.submit("g.V().values('text')")).toArray(),
    ]) {
      assert.ok(found.length === 100 && found.every((one) => one === text));
    }
    await clear(g);
  },
};
