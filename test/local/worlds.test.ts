/** More worlds than `npm test` has time for. */
import { testWorlds } from "../simulation/worlds.ts";

testWorlds(26, 25);
