#!/usr/bin/env node
// kubectl calls it for what may stand next after `kubectl krt`: with the words that are there, the last of them unfinished.
(await import("node:module")).enableCompileCache();
const { main } = await import("../cli/main.ts");
process.exitCode = await main(["__complete", "--kubectl", "--", ...process.argv.slice(2)]);
