import { expect, test } from "vitest";
import { staleProtoFiles } from "./generate-proto.ts";

test("the generated tables and types are those of runtime.proto", async () => {
  expect(await staleProtoFiles()).toEqual([]);
});
