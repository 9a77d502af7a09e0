// Checks a server with npm's gremlin, as its users query it: `node main.js URL [PASSWORD ROOT]`.
//
// Each function that a module exports is one check, run in both formats; the last line says how many passed. With a
// password the checks of log-ins are run: the server has the users reader, writer and nobody, all with this password,
// and its certificate is signed by ROOT, a file in PEM. The program that runs this restarts the server at the line
// "restart", waits until nothing runs there at the line "idle", adds a vertex with a date and a period at the line
// "sample", and writes a line when that is done.

'use strict';

const { FORMATS, connect } = require('./support');

const [url, password, root] = process.argv.slice(2);

async function main() {
  const isSecured = password !== undefined;
  const modules = isSecured ? ['./logins'] : ['./values', './elements', './requests', './rows', './connections'];
  const checks = Object.assign({}, ...modules.map(require));
  let passed = 0;
  for (const mimeType of FORMATS) {
    const context = isSecured ? { url, password, root, mimeType } : connect(url, mimeType);
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
    if (!isSecured) await context.close();
  }
  console.log(`${passed} passed`);
}

main();
