// Transactions, conflicts, errors, time limits, and many requests at once.

'use strict';

const assert = require('node:assert/strict');
const gremlin = require('gremlin');
const { ENDLESS, clear, one, refused } = require('./support');
const { statics: __ } = gremlin.process;

module.exports = {
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
};
