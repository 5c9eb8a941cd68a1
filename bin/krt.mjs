#!/usr/bin/env node
// Plain JavaScript, so that an older Node gets this message and not a syntax error from a .ts file.
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(
    `krt needs Node 24 or newer; this is ${process.version}. In a clone, use \`npx krt\` after \`npm ci\`.`,
  );
  process.exit(1);
}
const { main } = await import("../cli/main.ts");
process.exitCode = await main(process.argv.slice(2));
