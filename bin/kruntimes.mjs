#!/usr/bin/env node
// The one entry of every server component: `kruntimes COMPONENT`.
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(`kruntimes needs Node 24 or newer; this is ${process.version}.`);
  process.exit(1);
}
// From TypeScript sources the second start is half a second faster and 30 MB smaller: the compiler is not even loaded.
(await import("node:module")).enableCompileCache();
const { components } = await import("./components.ts");
const [name = "", ...args] = process.argv.slice(2);
const start = components[name];
if (start === undefined) {
  console.error(`kruntimes: unknown component ${JSON.stringify(name)}; one of ${Object.keys(components).join(", ")}`);
  process.exit(2);
}
try {
  await start(args);
} catch (error) {
  // A wrong command line is told in its own words; anything else is a defect, and its stack helps to find it.
  console.error(error?.name === "UsageError" ? error.message : error);
  process.exit(1);
}
