import { createMemoryStorage } from "./memory-storage.ts";
import { describeStorage } from "./testing/storage-contract.ts";

describeStorage(createMemoryStorage);
