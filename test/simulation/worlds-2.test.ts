import { testWorlds } from "./worlds.ts";

testWorlds(26, 25);
