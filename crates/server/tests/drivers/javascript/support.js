// What the checks share.

'use strict';

const assert = require('node:assert/strict');
const gremlin = require('gremlin');
const { DriverRemoteConnection, Client, ResponseError } = gremlin.driver;
const { traversal } = gremlin.process.AnonymousTraversalSource;

const FORMATS = ['application/vnd.graphbinary-v1.0', 'application/vnd.gremlin-v3.0+json'];
const ENDLESS = 'g.inject(1).repeat(__.identity()).until(__.is(2))';

/** A connection, a client and a source, to be closed by `close`. */
function connect(url, mimeType, options) {
  const connection = new DriverRemoteConnection(url, { mimeType, ...options });
  const client = new Client(url, { mimeType, traversalSource: 'g', ...options });
  const close = () => Promise.all([connection.close(), client.close()]);
  return { url, mimeType, connection, client, close, g: traversal().with_(connection), isBinary: mimeType === FORMATS[0] };
}

/** The error of the server that `promise` ends with. */
async function refused(promise, status) {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof ResponseError, error);
    if (status) assert.equal(error.statusCode, status, error.message);
    return error;
  }
  throw new Error('an error was expected');
}

async function one(query) {
  return (await query.next()).value;
}

const clear = (g) => g.V().drop().iterate();

/** Prints a line, and waits for the answer of the program that runs this. */
function say(text) {
  return new Promise((resolve) => {
    process.stdin.ref().resume();
    process.stdin.once('data', (data) => {
      process.stdin.pause();
      // A pipe that was read once keeps the program alive.
      process.stdin.unref();
      resolve(data.toString());
    });
    console.log(text);
  });
}

module.exports = { ENDLESS, FORMATS, clear, connect, one, refused, say };
