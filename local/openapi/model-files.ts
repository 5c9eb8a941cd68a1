import { readFileSync } from "node:fs";
import type { ModelSource } from "./models.ts";

/** The declaration files of the installed client library. */
export function clientLibraryModels(): ModelSource {
  const entry = import.meta.resolve("@kubernetes/client-node");
  return (name) => {
    try {
      return readFileSync(new URL(`gen/models/${name}.d.ts`, entry), "utf8");
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  };
}
