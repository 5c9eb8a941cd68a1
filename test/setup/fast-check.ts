import fc from "fast-check";

/**
 * Property tests draw the same values each time, so that a failure is the fault of a change and not of luck. Another
 * seed explores more: `FAST_CHECK_SEED=$RANDOM npm test`.
 */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.FAST_CHECK_SEED ?? 20260101) });
