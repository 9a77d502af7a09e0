// Log-ins by TLS, with the right password and wrong ones, and roles.

'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const gremlin = require('gremlin');
const support = require('./support');
const { clear, one, refused } = support;
const { PlainTextSaslAuthenticator } = gremlin.driver.auth;

function connect({ url, password, root, mimeType }, user, given = password) {
  const authenticator = new PlainTextSaslAuthenticator(user, given);
  return support.connect(url, mimeType, { authenticator, ca: [fs.readFileSync(root)] });
}

module.exports = {
  async aWriterWritesAndAReaderReads(site) {
    const writer = connect(site, 'writer');
    await writer.g.addV('person').property('name', 'ann').iterate();
    const reader = connect(site, 'reader');
    assert.deepEqual(await reader.g.V().values('name').toList(), ['ann']);
    const error = await refused(reader.g.addV('person').iterate(), 403);
    assert.match(error.message, /reader/);
    await refused(reader.client.submit("g.addV('person')"), 403);
    // The connection can be used as before.
    assert.equal(await one(reader.g.V().count()), 1);
    await clear(writer.g);
    await Promise.all([reader.close(), writer.close()]);
  },

  async transactionsLogInOnConnectionsOfTheirOwn(site) {
    const writer = connect(site, 'writer');
    for (let round = 0; round < 5; round++) {
      const tx = writer.g.tx();
      await tx.begin().addV('person').iterate();
      await tx.commit();
    }
    assert.equal(await one(writer.g.V().count()), 5);
    const reader = connect(site, 'reader');
    const tx = reader.g.tx();
    const within = tx.begin();
    assert.equal(await one(within.V().count()), 5);
    await refused(within.addV('person').iterate(), 403);
    await tx.rollback();
    await clear(writer.g);
    await Promise.all([reader.close(), writer.close()]);
  },

  async wrongLogInsAreRefused(site) {
    const wrong = connect(site, 'writer', 'wrong horse');
    await refused(one(wrong.g.V().count()), 401);
    await refused(wrong.client.submit('g.V().count()'), 401);
    const unknown = connect(site, 'stranger');
    await refused(one(unknown.g.V().count()), 401);
    const tx = wrong.g.tx();
    await refused(tx.begin().addV('person').iterate(), 401);
    const nobody = connect(site, 'nobody');
    const error = await refused(one(nobody.g.V().count()), 403);
    assert.match(error.message, /no role/);
    await Promise.all([wrong.close(), unknown.close(), nobody.close()]);
    tx.close();
  },

  async aServerOfAnotherRootIsNotTrusted(site) {
    const { password, url, mimeType } = site;
    const authenticator = new PlainTextSaslAuthenticator('writer', password);
    const client = new gremlin.driver.Client(url, { mimeType, traversalSource: 'g', authenticator });
    // The driver's own error, not one of the server.
    await assert.rejects(client.submit('g.V().count()'), /certificate/);
  },
};
