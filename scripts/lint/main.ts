import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { check } from "./architecture.ts";

const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.ts"], {
  encoding: "utf8",
});
const findings = listed
  .split("\n")
  .filter((file) => file !== "" && existsSync(file))
  .flatMap((file) => check(file, readFileSync(file, "utf8")));
for (const { file, line, message } of findings) console.error(`${file}:${line}: ${message}`);
process.exitCode = findings.length === 0 ? 0 : 1;
