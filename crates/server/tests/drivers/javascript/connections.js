// Connections that end: a restart of the server, and clients that leave.

'use strict';

const assert = require('node:assert/strict');
const { clear, connect, one, say } = require('./support');

module.exports = {
  async aClientThatLeavesInAResult({ g, client, url, mimeType }) {
    await clear(g);
    await client.submit("g.inject(0).repeat(__.union(__.identity(), __.identity())).times(10).addV('point').iterate()");
    const leaving = connect(url, mimeType);
    for await (const part of leaving.client.stream('g.V().V().V()')) {
      assert.ok(part.length > 0);
      break;
    }
    await leaving.close();
    // Its query is cancelled.
    await say('idle');
  },

  async aClientThatLeavesInATransaction({ g, url, mimeType }) {
    await clear(g);
    const leaving = connect(url, mimeType);
    const tx = leaving.g.tx();
    await tx.begin().addV('person').iterate();
    tx.close();
    await leaving.close();
    await say('idle');
    assert.equal(await one(g.V().count()), 0);
  },

  async aRestartOfTheServer({ g, client, url, mimeType }) {
    await clear(g);
    await g.addV('person').iterate();
    const tx = g.tx();
    const within = tx.begin();
    await within.addV('person').iterate();
    const streaming = connect(url, mimeType);
    const stream = streaming.client.stream('g.inject(0).repeat(__.identity()).emit()')[Symbol.asyncIterator]();
    await stream.next();
    await say('restart');
    // A stream that the server broke off ends as if it were whole.
    while (!(await stream.next()).done);
    // A connection that closed opens again with the next request. A transaction goes on in another one, without what it
    // did before.
    assert.equal(await one(g.V().count()), 1);
    assert.equal((await client.submit('g.V().count()')).first(), 1);
    assert.equal(await one(within.V().count()), 1);
    await tx.commit();
    assert.equal(await one(g.V().count()), 1);
    await streaming.close();
  },
};
