#!/usr/bin/env node
// Plain JavaScript, so that an older Node gets this message and not a syntax error from a .ts file.
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(
    `krt needs Node 24 or newer; this is ${process.version}. In a clone, use \`npx krt\` after \`npm ci\`.`,
  );
  process.exit(1);
}
// From TypeScript sources the second start is faster: the compiler is not even loaded.
(await import("node:module")).enableCompileCache();
const { main } = await import("../cli/main.ts");
const code = await main(process.argv.slice(2));
// A pipe takes only so much at once; the rest waits for its reader.
const written = (stream) => new Promise((done) => (stream.writableLength === 0 ? done() : stream.write("", done)));
await Promise.all([written(process.stdout), written(process.stderr)]);
process.exit(code);
